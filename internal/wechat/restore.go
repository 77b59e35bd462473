package wechat

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/mend"
)

// maxOrders bounds the orders of members that are tried: those of an envelope of
// six and a resource of five are 86,400, a second of hashing.
const maxOrders = 1 << 20

// writeCost is what it costs to write JSON, as the number of times that its bytes
// could be hashed instead.
const writeCost = 8

// summaries are the texts that WeChat Pay writes into summary: what a broken
// charset made question marks of cannot be computed, only looked up.
var summaries = []string{"支付成功", "退款成功", "退款异常", "退款关闭"}

// The members that an envelope and its resource have. Anything else was mixed in
// on the way, or is new.
var (
	envelopeNames = []string{"id", "create_time", "resource_type", "event_type", "summary", "resource"}
	resourceNames = []string{"original_type", "algorithm", "ciphertext", "associated_data", "nonce"}
)

// reencoded looks for the body that WeChat Pay wrote behind one that was decoded
// and encoded again. signs says whether the signature is over a text. Every order
// of members is tried only when thorough is due: it costs tenths of a second. It
// gives up when the search is over.
func reencoded(text string, signs func([]byte) bool, thorough bool, search *mend.Search) (original string, found bool) {
	v, err := mend.ReadJSON(text)
	if err != nil || v.Kind != mend.Object {
		return "", false
	}
	var b []byte
	forms := envelopes(v)
	for _, form := range forms {
		for _, s := range mend.Styles {
			if !search.Try(writeCost * len(text)) {
				return "", false
			}
			if b = form.Append(b[:0], s); signs(b) {
				return string(b), true
			}
		}
	}
	if !thorough {
		return "", false
	}
	for _, form := range forms {
		for b := range orders(form) {
			if signs(b) {
				return string(b), true
			}
			if search.Over() {
				return "", false
			}
		}
	}
	return "", false
}

// envelopes are the forms that an envelope may have had apart from the order of
// its members: names in snake case, nothing mixed in, what encoders leave out
// put back, texts that were lost looked up.
func envelopes(v mend.Value) []mend.Value {
	forms := []mend.Value{v}
	add := func(change func(mend.Value) (mend.Value, bool)) {
		for _, form := range slices.Clone(forms) {
			if changed, did := change(form); did {
				forms = append(forms, changed)
			}
		}
	}
	add(func(v mend.Value) (mend.Value, bool) {
		snake := v.SnakeCase()
		return snake, !slices.EqualFunc(snake.Members, v.Members, func(a, b mend.Member) bool { return a.Name == b.Name })
	})
	add(onlyKnown)
	add(func(v mend.Value) (mend.Value, bool) { return withAssociatedData(v) })
	add(inBeijing)
	if summary, is := v.Get("summary"); is && strings.ContainsAny(summary.Text, "?\uFFFD") {
		for _, text := range summaries {
			forms = append(forms, with(v, "summary", text))
		}
	}
	return forms
}

// onlyKnown is the envelope without members that no envelope has, and each once.
func onlyKnown(v mend.Value) (mend.Value, bool) {
	kept := keep(v, envelopeNames)
	for i, m := range kept.Members {
		if m.Name == "resource" {
			kept.Members[i].Value = keep(m.Value, resourceNames)
		}
	}
	return kept, count(kept) != count(v)
}

func count(v mend.Value) int {
	n := len(v.Members)
	for _, m := range v.Members {
		n += count(m.Value)
	}
	return n
}

func keep(v mend.Value, names []string) mend.Value {
	var members []mend.Member
	for _, m := range v.Members {
		if slices.Contains(names, m.Name) && !slices.ContainsFunc(members, func(other mend.Member) bool { return other.Name == m.Name }) {
			members = append(members, m)
		}
	}
	v.Members = members
	return v
}

// withAssociatedData turns an empty associated_data, which encoders leave out or
// put in, into the other form.
func withAssociatedData(v mend.Value) (mend.Value, bool) {
	resource, _ := v.Get("resource")
	if data, is := resource.Get("associated_data"); is {
		if data.Text != "" {
			return v, false
		}
		resource.Members = slices.DeleteFunc(slices.Clone(resource.Members), func(m mend.Member) bool { return m.Name == "associated_data" })
	} else {
		resource.Members = append(slices.Clone(resource.Members), mend.Member{Name: "associated_data", Value: mend.Value{Kind: mend.Text}})
	}
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		if v.Members[i].Name == "resource" {
			v.Members[i].Value = resource
		}
	}
	return v, true
}

// inBeijing writes create_time as WeChat Pay does, where a typed field of another
// program wrote it in another zone.
func inBeijing(v mend.Value) (mend.Value, bool) {
	at, is := v.Get("create_time")
	t, err := time.Parse(time.RFC3339Nano, at.Text)
	if !is || err != nil {
		return v, false
	}
	text := t.In(time.FixedZone("", int(beijing.Seconds()))).Format(time.RFC3339)
	return with(v, "create_time", text), text != at.Text
}

func with(v mend.Value, name, text string) mend.Value {
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		if v.Members[i].Name == name {
			v.Members[i].Value = mend.Value{Kind: mend.Text, Text: text}
		}
	}
	return v
}

// orders yields the envelope with its members, and those of its resource, in
// every order, as far as that can be done. The bytes are overwritten by the next.
func orders(v mend.Value) iter.Seq[[]byte] {
	at := slices.IndexFunc(v.Members, func(m mend.Member) bool { return m.Name == "resource" })
	if at < 0 || factorial(len(v.Members))*factorial(len(v.Members[at].Value.Members)) > maxOrders {
		return func(func([]byte) bool) {}
	}
	inner := written(v.Members[at].Value, mend.Style{})
	outers := [][][]byte{written(v, mend.Style{}), written(v, mend.Style{HTMLSafe: true})}
	if slices.EqualFunc(outers[0], outers[1], bytes.Equal) {
		outers = outers[:1]
	}
	return func(yield func([]byte) bool) {
		var b, resource []byte
		for places := range mend.Orders(len(inner)) {
			resource = join(append(resource[:0], `"resource":`...), inner, places)
			for _, outer := range outers {
				outer[at] = resource
				for places := range mend.Orders(len(outer)) {
					if b = join(b[:0], outer, places); !yield(b) {
						return
					}
				}
			}
		}
	}
}

// written are the members of an object, each as its name and value.
func written(v mend.Value, s mend.Style) [][]byte {
	members := make([][]byte, len(v.Members))
	for i, m := range v.Members {
		one := mend.Value{Kind: mend.Object, Members: []mend.Member{m}}.Append(nil, s)
		members[i] = one[1 : len(one)-1]
	}
	return members
}

// join writes the object whose members stand at the places.
func join(to []byte, members [][]byte, places []int) []byte {
	to = append(to, '{')
	for i, place := range places {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, members[place]...)
	}
	return append(to, '}')
}

func factorial(n int) int {
	product := 1
	for i := 2; i <= n && product <= maxOrders; i++ {
		product *= i
	}
	return product
}
