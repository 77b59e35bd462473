package wechat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

// hostileObjects are pieces of an object that no reader may take.
var hostileObjects = []struct{ code, text string }{
	{CodeDuplicateField, `"a":1,"a":1`},
	{CodeDuplicateField, `"a":1,"A":2`},
	{CodeDuplicateField, `"a":null,"a":null`},
	{CodeDuplicateField, `"a":1,"\u0061":2`},
	{CodeDuplicateField, `"\u0061":1,"A":2`},
	{CodeDuplicateField, `"a\/b":1,"a/b":2`},
	{CodeDuplicateField, `"k":1,"` + "\u212A" + `":2`}, // KELVIN SIGN folds to k
	{CodeDuplicateField, `"s":1,"\u017f":2`},           // so does LONG S to s
	{CodeDuplicateField, `"订":1,"订":2`},
	{CodeDuplicateField, `"é":1,"É":2`},
	{CodeDuplicateField, `"":1,"":2`},
	{CodeDuplicateField, `"x":{"a":1,"b":2,"A":3}`},
	{CodeDuplicateField, `"x":[[{"a":{"b":1,"B":2}}]]`},
	{CodeJSONShape, `"` + strings.Repeat("a", maxName+1) + `":1`},
	{CodeJSONShape, "\"\xff\":1"},
	{CodeJSONShape, `"x":` + strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1)},
	{CodeJSONShape, `"x":` + strings.Repeat(`{"a":`, maxNesting+1) + "1" + strings.Repeat("}", maxNesting+1)},
	{CodeJSONShape, strings.TrimSuffix(strings.Repeat(`"%s":1,`, maxMembers+1), ",")},
	{CodeMalformedJSON, `"a"`}, {CodeMalformedJSON, `"a":`}, {CodeMalformedJSON, `"a":1,`}, {CodeMalformedJSON, `,"a":1`},
	{CodeMalformedJSON, `a:1`}, {CodeMalformedJSON, `'a':1`}, {CodeMalformedJSON, `"a":'b'`}, {CodeMalformedJSON, `1:1`},
	{CodeMalformedJSON, `"a":01`}, {CodeMalformedJSON, `"a":+1`}, {CodeMalformedJSON, `"a":.5`}, {CodeMalformedJSON, `"a":1.`},
	{CodeMalformedJSON, `"a":1e`}, {CodeMalformedJSON, `"a":1e+`}, {CodeMalformedJSON, `"a":-`}, {CodeMalformedJSON, `"a":0x1`},
	{CodeMalformedJSON, `"a":NaN`}, {CodeMalformedJSON, `"a":Infinity`}, {CodeMalformedJSON, `"a":True`}, {CodeMalformedJSON, `"a":nul`},
	{CodeMalformedJSON, `"a":truex`}, {CodeMalformedJSON, `"a":undefined`}, {CodeMalformedJSON, `"a" 1`}, {CodeMalformedJSON, `"a":1 "b":2`},
	{CodeMalformedJSON, `"a":[1,]`}, {CodeMalformedJSON, `"a":[1 2]`}, {CodeMalformedJSON, `"a":[`}, {CodeMalformedJSON, `"a":[1`}, {CodeMalformedJSON, `"a":{]`},
	{CodeMalformedJSON, `"a":"\x"`}, {CodeMalformedJSON, `"a":"\u12"`}, {CodeMalformedJSON, `"a":"\u12G4"`}, {CodeMalformedJSON, `"a":"\"`},
	{CodeMalformedJSON, "\"a\":\"\n\""}, {CodeMalformedJSON, "\"a\":\"\x00\""}, {CodeMalformedJSON, "\"a\":\"\x1f\""}, {CodeMalformedJSON, `"a":"`},
	{CodeMalformedJSON, `"a":1//b`}, {CodeMalformedJSON, `/**/"a":1`}, {CodeMalformedJSON, `#"a":1`}, {CodeMalformedJSON, "\"a\":1\x00"},
	{CodeMalformedJSON, "\u00A0\"a\":1"}, {CodeMalformedJSON, "\f\"a\":1"}, {CodeMalformedJSON, `"a":1}`}, {CodeMalformedJSON, `"a":1}{"a":1`},
}

// hostilePiece numbers the names of a piece that has very many.
func hostilePiece(text string) string {
	for i := 0; strings.Contains(text, "%s"); i++ {
		text = strings.Replace(text, "%s", fmt.Sprintf("n%d", i), 1)
	}
	return text
}

// TestT12 puts the pieces beside the fields of a signed envelope and into its
// decrypted content.
func TestT12(t *testing.T) {
	a := newAdapter(t)
	class := func(code string) error {
		if code == CodeMalformedJSON {
			return provider.ErrMalformed
		}
		return provider.ErrSignature
	}
	whole := v3(paidEvent(payment().V3())).Body
	for i, c := range hostileObjects {
		piece := hostilePiece(c.text)
		t.Run(fmt.Sprintf("envelope %d", i), func(t *testing.T) {
			refuse(t, a, v3Body(edited(t, whole, `{"id"`, `{`+piece+`,"id"`)), class(c.code), c.code)
		})
		t.Run(fmt.Sprintf("resource %d", i), func(t *testing.T) {
			refuse(t, a, v3Body(edited(t, whole, `"resource":{`, `"resource":{`+piece+`,`)), class(c.code), c.code)
		})
		t.Run(fmt.Sprintf("content %d", i), func(t *testing.T) {
			req := v3(paidEvent(edited(t, payment().V3(), `"amount":{`, `"amount":{`+piece+`,`)))
			if c.code == CodeMalformedJSON {
				// Genuine and not understood: kept, and nothing moves.
				n := accept(t, a, req)
				if n.Kind.Moves() {
					t.Errorf("%+v", n.Facts)
				}
				return
			}
			refuse(t, a, req, provider.ErrSignature, c.code)
		})
	}
	for _, field := range []string{"trade_state", "Trade_State", "TRADE_STATE", `trade_stat\u0065`} {
		piece := edited(t, payment().V3(), `"attach":""`, `"`+field+`":"REVOKED"`)
		refuse(t, a, v3(paidEvent(piece)), provider.ErrSignature, CodeDuplicateField)
	}
	for _, body := range []string{"", " ", "null", "[]", `"x"`, "7", "true", "\uFEFF{}", "<xml></xml>", "a=b", "{", "{}}", "{} {}", "{}\x00"} {
		refuse(t, a, v3Body([]byte(body)), provider.ErrMalformed, CodeMalformedJSON)
	}
	// A name in another case is another name, not this one.
	req := v3Body(edited(t, whole, `"resource":`, `"Resource":`))
	refuse(t, a, req, provider.ErrSignature, CodeResource)
}

func TestJSONIsLinear(t *testing.T) {
	a := newAdapter(t)
	const mib = 1 << 20
	var names, long strings.Builder
	names.WriteString("{")
	for i := 0; names.Len() < mib; i++ {
		fmt.Fprintf(&names, `"n%09d":1,`, i)
	}
	// Objects whose names differ at their ends only.
	long.WriteString(`{"x":[`)
	for long.Len() < mib {
		long.WriteString("{")
		for i := range 200 {
			fmt.Fprintf(&long, `"%s%d":0,`, strings.Repeat("a", 100), i)
		}
		long.WriteString(`"z":0},`)
	}
	for name, body := range map[string]string{
		"names": names.String(), "long names": long.String(), "brackets": `{"a":` + strings.Repeat("[", mib), "zeros": `{"a":[` + strings.Repeat("0,", mib/2),
		"backslashes": `{"a":"` + strings.Repeat(`\\`, mib/2), "digits": `{"a":` + strings.Repeat("1", mib), "blanks": "{" + strings.Repeat(" ", mib),
		"a text": `{"a":"` + strings.Repeat("x", mib) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			req := v3Body([]byte(body))
			began := time.Now()
			if _, err := a.Parse(req); err == nil {
				t.Error("accepted")
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestJSONValues(t *testing.T) {
	var d document
	src := ` { "a" : "x\n\u00e9\ud83c\udf75\ud83c\/\"" , "n" : -0.5e+10 , "z":null,"e":"", "o":{"p":[1,"two",{"q":3}]},"t":true, "\u006b":"key", "utf":"` + "\xff" + `" } `
	if fault := d.read([]byte(src), maxPlainNodes); fault != nil {
		t.Fatalf("%+v", fault)
	}
	if got := string(d.text(root, "a")); got != "x\né🍵\uFFFD/\"" {
		t.Errorf("a is %q", got)
	}
	if got := string(d.number(root, "n")); got != "-0.5e+10" {
		t.Errorf("n is %q", got)
	}
	if d.text(root, "z") != nil || d.text(root, "e") != nil || d.text(root, "nowhere") != nil || d.member(root, "z") != none {
		t.Error("null, empty and absent are not nil")
	}
	if string(d.text(root, "k")) != "key" || string(d.text(root, "n")) != string(wrongType) || string(d.number(root, "a")) != string(wrongType) {
		t.Error("escaped names or wrong types")
	}
	var seen []string
	list := d.member(d.member(root, "o"), "p")
	if count := d.elements(list, func(i int) { seen = append(seen, string(d.src[d.nodes[i].start:d.nodes[i].end])) }); count != 3 {
		t.Errorf("%d elements", count)
	}
	if strings.Join(seen, " ") != `1 two {"q":3}` {
		t.Errorf("elements %q", seen)
	}
	if d.elements(none, nil) != 0 || d.elements(root, nil) != 0 || d.member(list, "q") != none || d.member(none, "q") != none {
		t.Error("what is no array has no elements, what is no object no members")
	}
}
