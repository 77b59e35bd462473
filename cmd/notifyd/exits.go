package main

import (
	"fmt"
	"strconv"
	"strings"
)

// exitMeanings are all exit codes, for people. Source: section 7 of the outside
// contract.
var exitMeanings = []struct {
	code  int
	means string
}{
	{exitDone, "done"},
	{exitFailed, "failed while running"},
	{exitUsage, "wrong usage"},
	{exitConfig, "the configuration cannot be used"},
	{exitUnreachable, "the server cannot be reached, or the store cannot be used"},
	{exitRefused, "a notification was refused"},
	{exitUnhealthy, "a check failed"},
	{exitInterrupted, "interrupted by a signal"},
}

// exitNote is the annotation of a command that lists its exit codes.
const exitNote = "exit-codes"

// endsWith notes the exit codes that a command has.
func endsWith(codes ...int) map[string]string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = strconv.Itoa(code)
	}
	return map[string]string{exitNote: strings.Join(texts, " ")}
}

// groupNote is the annotation of a command that only holds others.
const groupNote = "holds-others"

func holdsOthers() map[string]string { return map[string]string{groupNote: "yes"} }

// asksServer notes the exit codes of the commands that ask the admin API.
func asksServer() map[string]string {
	return endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitUnreachable, exitInterrupted)
}

// exitLines are the codes of a command with their meanings; all there are when
// it names none.
func exitLines(noted string) (lines [][2]string) {
	for _, m := range exitMeanings {
		code := strconv.Itoa(m.code)
		if noted == "" || strings.Contains(" "+noted+" ", " "+code+" ") {
			lines = append(lines, [2]string{code, m.means})
		}
	}
	return lines
}

// exitHelp is the end of a command's help.
func exitHelp(noted string) string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, l := range exitLines(noted) {
		fmt.Fprintf(&b, "  %-4s %s\n", l[0], l[1])
	}
	return b.String()
}
