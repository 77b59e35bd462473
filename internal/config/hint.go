package config

import (
	"fmt"
	"slices"
	"strings"
)

// unknownKey words the error for a key that is none of known. elsewhere is
// where the key would be right, "" when nowhere.
func unknownKey(key string, known []string, elsewhere string) string {
	text := fmt.Sprintf("unknown option %q", key)
	if near := nearest(key, known); near != "" {
		return fmt.Sprintf("%s: did you mean %q?", text, near)
	}
	if elsewhere != "" {
		return fmt.Sprintf("%s here: it belongs to %s", text, elsewhere)
	}
	return fmt.Sprintf("%s: known here are %s", text, strings.Join(known, ", "))
}

// Unknown words the error for a value that is none of known: what is "provider"
// or the like.
func Unknown(what, word string, known []string) string {
	return UnknownAmong(what, word, known, "known are "+strings.Join(known, ", "))
}

// UnknownAmong is [Unknown] where the known are too many for a line: list says
// where they are named.
func UnknownAmong(what, word string, known []string, list string) string {
	text := fmt.Sprintf("unknown %s %q", what, word)
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("%s: did you mean %q?", text, near)
	}
	return fmt.Sprintf("%s: %s", text, list)
}

// nearest allows one edit for three letters: fewer would miss slips, more would
// suggest words that nobody meant.
func nearest(word string, known []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(fold(word), fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance counts the letters to insert, drop, change or swap with a neighbour
// until a is b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := last[j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			row[j] = slices.Min([]int{last[j] + 1, row[j-1] + 1, change})
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
