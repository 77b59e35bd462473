package mend

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

// pathsOf lists the names of all members, with those of the objects around them,
// in the order in which they stand.
func pathsOf(v Value, under string) (paths []string) {
	for _, m := range v.Members {
		path := under + "/" + m.Name
		paths = append(paths, path)
		paths = append(paths, pathsOf(m.Value, path)...)
	}
	return paths
}

func sortedNames(v Value, under string) []string {
	paths := pathsOf(v, under)
	slices.Sort(paths)
	return paths
}

// sameNames are the names of v that stand in the list, in v's order.
func sameNames(v Value, list []string) []string {
	in := make(map[string]bool, len(list))
	for _, path := range list {
		in[path] = true
	}
	return slices.DeleteFunc(pathsOf(v, ""), func(path string) bool { return !in[path] })
}

// SnakeCase is the value with its names written as the providers do: eventType
// becomes event_type.
func (v Value) SnakeCase() Value {
	members := make([]Member, len(v.Members))
	for i, m := range v.Members {
		members[i] = Member{snake(m.Name), m.Value.SnakeCase()}
	}
	v.Members = members
	return v
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Orders yields every order of n things, the present one first.
func Orders(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		at := make([]int, n)
		for i := range at {
			at[i] = i
		}
		var place func(k int) bool
		place = func(k int) bool {
			if k == n {
				return yield(at)
			}
			for i := k; i < n; i++ {
				// Rotated, not exchanged: orders that differ in little come early.
				picked := at[i]
				copy(at[k+1:i+1], at[k:i])
				at[k] = picked
				if !place(k + 1) {
					return false
				}
				copy(at[k:i], at[k+1:i+1])
				at[i] = picked
			}
			return true
		}
		place(0)
	}
}
