package main

// Colours of a terminal: ECMA-48, select graphic rendition.
const (
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// inColour is text in a colour. Whether there are colours at all, app.colour says.
func inColour(colour, text string) string { return "\x1b[" + colour + "m" + text + "\x1b[0m" }
