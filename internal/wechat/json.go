package wechat

import (
	"bytes"
	"math"
)

const (
	// maxNesting: genuine messages nest five deep.
	maxNesting = 32
	// maxMembers bounds one object, for each name is compared with the others.
	maxMembers = 256
	// maxName is longer than any field's name.
	maxName = 128
	// maxEnvelopeNodes bounds the part that is read before the signature is
	// known: an envelope has a dozen values.
	maxEnvelopeNodes = 1024
	// maxPlainNodes: fifty sub-orders with all their coupons and goods have about 11,000.
	maxPlainNodes = 1 << 16
)

type jsonKind byte

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// node is one value. Values stand in the order of the text, children after
// their parent; offsets are into the source.
type node struct {
	start, end       int32 // of a string: between the quotes
	keyStart, keyEnd int32 // between the quotes; only in objects
	next             int32 // the value after this one and all its children
	kind             jsonKind
	escaped          bool // a string with a backslash
	keyEscaped       bool
	keyPlain         bool // the name is ASCII without a backslash
}

// document is JSON that was read strictly: one value and nothing after it, no
// name twice in one object, not even in another case.
type document struct {
	src   []byte
	nodes []node
	limit int
}

// none is no node.
const none = -1

// root is the whole value.
const root = 0

// read replaces the document by the one in src, whose bytes it keeps using.
func (d *document) read(src []byte, limit int) *formFault {
	d.src, d.nodes, d.limit = src, d.nodes[:0], limit
	if len(src) > math.MaxInt32 {
		return &formFault{CodeJSONShape, "too long", nowhere}
	}
	pos, fault := d.value(skipSpace(src, 0), 0)
	if fault != nil {
		return fault
	}
	if pos = skipSpace(src, pos); pos != len(src) {
		return &formFault{CodeMalformedJSON, "something follows the value", pos}
	}
	return nil
}

// value reads the value at pos into a new node and returns where it ends.
func (d *document) value(pos, depth int) (int, *formFault) {
	if len(d.nodes) >= d.limit {
		return pos, &formFault{CodeJSONShape, "too many values", pos}
	}
	if depth > maxNesting {
		return pos, &formFault{CodeJSONShape, "nested too deep", pos}
	}
	if pos >= len(d.src) {
		return pos, &formFault{CodeMalformedJSON, "ends where a value is due", pos}
	}
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{start: int32(pos)})
	var end int
	var fault *formFault
	switch c := d.src[pos]; {
	case c == '{':
		d.nodes[at].kind = jsonObject
		end, fault = d.object(at, pos+1, depth)
	case c == '[':
		d.nodes[at].kind = jsonArray
		end, fault = d.array(pos+1, depth)
	case c == '"':
		var s scannedString
		s, end, fault = scanString(d.src, pos)
		n := &d.nodes[at]
		n.kind, n.start, n.end, n.escaped = jsonString, int32(s.start), int32(s.end), s.escaped
		n.next = int32(at + 1)
		return end, fault
	default:
		d.nodes[at].kind, end, fault = scanLiteral(d.src, pos)
	}
	d.nodes[at].end = int32(end)
	d.nodes[at].next = int32(len(d.nodes))
	return end, fault
}

func (d *document) object(at, pos, depth int) (int, *formFault) {
	pos = skipSpace(d.src, pos)
	if pos < len(d.src) && d.src[pos] == '}' {
		return pos + 1, nil
	}
	for members := 1; ; members++ {
		if members > maxMembers {
			return pos, &formFault{CodeJSONShape, "too many names in one object", pos}
		}
		if pos >= len(d.src) || d.src[pos] != '"' {
			return pos, &formFault{CodeMalformedJSON, "a name is due", pos}
		}
		key, end, fault := scanString(d.src, pos)
		if fault != nil {
			return pos, fault
		}
		if key.end-key.start > maxName || key.invalid {
			return pos, &formFault{CodeJSONShape, "a name that no message has", pos}
		}
		pos = skipSpace(d.src, end)
		if pos >= len(d.src) || d.src[pos] != ':' {
			return pos, &formFault{CodeMalformedJSON, "a colon is due", pos}
		}
		child := len(d.nodes)
		if pos, fault = d.value(skipSpace(d.src, pos+1), depth+1); fault != nil {
			return pos, fault
		}
		n := &d.nodes[child]
		n.keyStart, n.keyEnd = int32(key.start), int32(key.end)
		n.keyEscaped, n.keyPlain = key.escaped, !key.escaped && !key.wide
		if d.named(at+1, child, n) {
			return pos, &formFault{CodeDuplicateField, "a name stands twice in one object", key.start}
		}
		pos = skipSpace(d.src, pos)
		if pos < len(d.src) && d.src[pos] == ',' {
			pos = skipSpace(d.src, pos+1)
			continue
		}
		if pos < len(d.src) && d.src[pos] == '}' {
			return pos + 1, nil
		}
		return pos, &formFault{CodeMalformedJSON, "a comma or the end of the object is due", pos}
	}
}

func (d *document) array(pos, depth int) (int, *formFault) {
	pos = skipSpace(d.src, pos)
	if pos < len(d.src) && d.src[pos] == ']' {
		return pos + 1, nil
	}
	for {
		var fault *formFault
		if pos, fault = d.value(pos, depth+1); fault != nil {
			return pos, fault
		}
		pos = skipSpace(d.src, pos)
		if pos < len(d.src) && d.src[pos] == ',' {
			pos = skipSpace(d.src, pos+1)
			continue
		}
		if pos < len(d.src) && d.src[pos] == ']' {
			return pos + 1, nil
		}
		return pos, &formFault{CodeMalformedJSON, "a comma or the end of the array is due", pos}
	}
}

// named says whether one of the siblings from first up to child has n's name,
// in whatever case.
func (d *document) named(first, child int, n *node) bool {
	name := d.src[n.keyStart:n.keyEnd]
	if n.keyEscaped {
		name = unescape(nil, name)
	}
	for i := first; i < child; i = int(d.nodes[i].next) {
		other := &d.nodes[i]
		if n.keyPlain && other.keyPlain && other.keyEnd-other.keyStart != n.keyEnd-n.keyStart {
			continue
		}
		if bytes.EqualFold(d.key(other), name) {
			return true
		}
	}
	return false
}

func (d *document) key(n *node) []byte {
	k := d.src[n.keyStart:n.keyEnd]
	if n.keyEscaped {
		return unescape(nil, k)
	}
	return k
}

// isObject says whether the value at is an object.
func (d *document) isObject(at int) bool { return at != none && d.nodes[at].kind == jsonObject }

// member finds the value under name in the object at; null counts as absent.
func (d *document) member(at int, name string) int {
	if !d.isObject(at) {
		return none
	}
	for i := at + 1; i < int(d.nodes[at].next); i = int(d.nodes[i].next) {
		n := &d.nodes[i]
		if n.kind != jsonNull && string(d.key(n)) == name {
			return i
		}
	}
	return none
}

// wrongType stands for a value of another type than is due: no check of this
// package accepts it, and it equals nothing.
var wrongType = []byte{0}

// text is the text under name in the object at: nil when it is absent, null or
// empty, wrongType when it is no text. The bytes may be those of the source.
func (d *document) text(at int, name string) []byte {
	i := d.member(at, name)
	if i == none {
		return nil
	}
	n := &d.nodes[i]
	switch {
	case n.kind != jsonString:
		return wrongType
	case n.start == n.end:
		return nil
	case n.escaped:
		return unescape(nil, d.src[n.start:n.end])
	}
	return d.src[n.start:n.end]
}

// number is the digits under name in the object at, as text is.
func (d *document) number(at int, name string) []byte {
	i := d.member(at, name)
	if i == none {
		return nil
	}
	if d.nodes[i].kind != jsonNumber {
		return wrongType
	}
	return d.src[d.nodes[i].start:d.nodes[i].end]
}

// elements calls f for each element of the array at, and says how many there
// are; none for what is no array.
func (d *document) elements(at int, f func(i int)) int {
	if at == none || d.nodes[at].kind != jsonArray {
		return 0
	}
	count := 0
	for i := at + 1; i < int(d.nodes[at].next); i = int(d.nodes[i].next) {
		count++
		if f != nil {
			f(i)
		}
	}
	return count
}
