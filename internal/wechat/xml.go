package wechat

import (
	"bytes"
	"slices"
)

const (
	// maxElements: a payment with twenty coupons has about eighty.
	maxElements = 256
	// maxElementName is the length that the contract allows a field's name.
	maxElementName = 64
)

// field is one child of the root.
type field struct{ name, value []byte }

// flatXML is the one shape that v2 messages have: a root and one level of
// children, each name once, text and CDATA only. Fields are in order of their
// names. Values are the bytes as they were sent (the signature is over those),
// so that line ends stay as they are.
type flatXML struct {
	fields []field
	src    []byte
	pos    int
	joined []byte // values made of several pieces
}

// read replaces the fields by those of the document in src, whose root must be
// the named one. The fields keep using the bytes of src.
func (x *flatXML) read(src []byte, rootName string) *formFault {
	x.src, x.pos, x.fields, x.joined = src, 0, x.fields[:0], x.joined[:0]
	if at := firstIllegal(src); at >= 0 {
		return x.malformedAt("a byte that XML in UTF-8 cannot have", at)
	}
	if !x.declaration() {
		return x.malformed("the XML declaration is not one of version 1.0 in UTF-8")
	}
	x.space()
	if fault := x.markup(); fault != nil && bytes.Contains(src, []byte("<"+rootName)) {
		return fault
	}
	name, empty, fault := x.startTag()
	if string(name) != rootName {
		return x.malformed("the root is not <" + rootName + ">")
	}
	if fault != nil {
		return fault
	}
	if !empty {
		if fault := x.children(rootName); fault != nil {
			return fault
		}
	}
	if x.space(); x.pos != len(src) {
		return x.malformed("something follows the root")
	}
	slices.SortFunc(x.fields, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	for i := 1; i < len(x.fields); i++ {
		if bytes.Equal(x.fields[i-1].name, x.fields[i].name) {
			return &formFault{CodeDuplicateField, "the field " + quoted(x.fields[i].name) + " stands twice", nowhere}
		}
	}
	return nil
}

// forget lets go of the document's bytes.
func (x *flatXML) forget() {
	clear(x.fields)
	x.src = nil
}

// get is the value under name; nil when it is absent or empty, which v2 does not
// tell apart: its signature leaves both out.
func (x *flatXML) get(name string) []byte {
	low, high := 0, len(x.fields)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if string(x.fields[middle].name) < name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(x.fields) && string(x.fields[low].name) == name && len(x.fields[low].value) > 0 {
		return x.fields[low].value
	}
	return nil
}

func (x *flatXML) malformed(text string) *formFault { return x.malformedAt(text, x.pos) }

func (x *flatXML) malformedAt(text string, at int) *formFault {
	return &formFault{CodeMalformedXML, text, at}
}

func (x *flatXML) shape(text string) *formFault { return &formFault{CodeXMLShape, text, x.pos} }

func (x *flatXML) space() { x.pos = skipSpace(x.src, x.pos) }

func (x *flatXML) rest() []byte { return x.src[x.pos:] }

func (x *flatXML) at(prefix string) bool {
	return len(x.src)-x.pos >= len(prefix) && string(x.src[x.pos:x.pos+len(prefix)]) == prefix
}

// markup refuses what begins like a tag and is none.
func (x *flatXML) markup() *formFault {
	switch {
	case x.at("<!DOCTYPE"), x.at("<!doctype"):
		return x.shape("a DOCTYPE is not accepted, used or not")
	case x.at("<!--"):
		return x.shape("a comment is not accepted")
	case x.at("<![CDATA["):
		return x.shape("text outside the fields is not accepted")
	case x.at("<!"):
		return x.shape("a declaration is not accepted")
	case x.at("<?"):
		return x.shape("a processing instruction is not accepted")
	}
	return nil
}

// startTag reads <name> or <name/>. On a fault the name is what stood there.
func (x *flatXML) startTag() (name []byte, empty bool, fault *formFault) {
	if !x.at("<") {
		return nil, false, x.malformed("a tag is due")
	}
	x.pos++
	name = x.name()
	if fault := x.checkName(name); fault != nil {
		return name, false, fault
	}
	x.space()
	switch {
	case x.at(">"):
		x.pos++
		return name, false, nil
	case x.at("/>"):
		x.pos += len("/>")
		return name, true, nil
	case x.pos == len(x.src):
		return name, false, x.malformed("ends inside a tag")
	}
	return name, false, x.shape("an attribute is not accepted")
}

// name takes what stands up to the end of a tag's name.
func (x *flatXML) name() []byte {
	start := x.pos
	for x.pos < len(x.src) {
		switch x.src[x.pos] {
		case ' ', '\t', '\r', '\n', '/', '>', '<', '&', '=':
			return x.src[start:x.pos]
		}
		x.pos++
	}
	return x.src[start:x.pos]
}

func (x *flatXML) checkName(name []byte) *formFault {
	if len(name) == 0 || name[0] >= '0' && name[0] <= '9' {
		return x.malformed("not a tag")
	}
	if len(name) > maxElementName {
		return x.shape("a field's name is longer than 64 characters")
	}
	for _, c := range name {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_':
		case c == ':':
			return x.shape("a prefix is not accepted")
		default:
			return x.shape("a field's name may have letters, digits and _ only")
		}
	}
	return nil
}

// children reads the fields up to the root's end tag.
func (x *flatXML) children(rootName string) *formFault {
	for {
		x.space()
		if x.at("</") {
			return x.endTag(rootName)
		}
		if x.pos == len(x.src) {
			return x.malformed("ends before </" + rootName + ">")
		}
		if !x.at("<") {
			return x.shape("text outside the fields is not accepted")
		}
		if fault := x.markup(); fault != nil {
			return fault
		}
		if len(x.fields) == maxElements {
			return x.shape("more than 256 fields")
		}
		name, empty, fault := x.startTag()
		if fault != nil {
			return fault
		}
		var value []byte
		if !empty {
			if value, fault = x.content(); fault != nil {
				return fault
			}
			if fault := x.endTag(string(name)); fault != nil {
				return fault
			}
		}
		x.fields = append(x.fields, field{name, value})
	}
}

func (x *flatXML) endTag(name string) *formFault {
	if !x.at("</") {
		return x.malformed("an end tag is due")
	}
	x.pos += len("</")
	if string(x.name()) != name {
		return x.malformed("an end tag that closes nothing")
	}
	if x.space(); !x.at(">") {
		return x.malformed("an end tag without its >")
	}
	x.pos++
	return nil
}
