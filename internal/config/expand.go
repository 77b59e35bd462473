package config

import (
	"fmt"
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand puts environment variables in place of ${NAME} and "$" in place of
// "$$". A "$" before anything else stands for itself, because passwords have
// them. What a variable holds is text: it is neither expanded again nor read as
// YAML. The problem is "" when there is none.
func expand(text string, env func(string) (string, bool)) (expanded, problem string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), ""
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "{"):
			name, rest, closed := strings.Cut(after[1:], "}")
			if !closed || !variable.MatchString(name) {
				return "", "${ must be followed by the name of an environment variable and }; a plain $ is written $$"
			}
			value, set := env(name)
			if !set {
				return "", fmt.Sprintf("the environment variable %s is not set", name)
			}
			b.WriteString(value)
			text = rest
		default:
			b.WriteByte('$')
			text = after
		}
	}
}
