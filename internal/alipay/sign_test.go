package alipay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestP32SigningRule(t *testing.T) {
	withBody := baseline().With("body", "")
	weak := forge.AlipaySigner{SignType: signRSA}
	strong := forge.AlipaySigner{}
	text := baseline().Text(forge.Rule{})
	rsaListed := func(o *Options) { o.SignTypes = []string{signRSA2, signRSA} }
	onlyRSA := func(o *Options) { o.SignTypes = []string{signRSA} }
	unnamed := strong.Send(baseline(), strong.Signature(text))
	for name, c := range map[string]struct {
		message forge.Message
		options func(*Options)
		code    string // "" accepts
	}{
		"a baseline":                              {message: strong.Sign(baseline())},
		"b sign_type kept":                        {message: forge.AlipaySigner{Rule: forge.Rule{KeepSignType: true}}.Sign(baseline())},
		"c empty body signed":                     {message: strong.Sign(withBody)},
		"d empty body left out":                   {message: forge.AlipaySigner{Rule: forge.Rule{DropEmpty: true}}.Sign(withBody)},
		"names sort before their equals sign":     {message: strong.Sign(baseline().With("d0", "1").With("d", "1"))},
		"e unknown parameter":                     {message: strong.Sign(baseline().With("merchant_app_id", "1"))},
		"f SHA-1, not listed":                     {message: weak.Sign(baseline()), code: codeSignType},
		"f SHA-1, listed":                         {message: weak.Sign(baseline()), options: rsaListed},
		"g called RSA, signed SHA-256":            {message: strong.Send(baseline().With("sign_type", signRSA), strong.Signature(text)), code: codeSignType},
		"g the same, RSA listed":                  {message: strong.Send(baseline().With("sign_type", signRSA), strong.Signature(text)), options: rsaListed, code: codeSignature},
		"called RSA2, signed SHA-1":               {message: strong.Send(baseline().With("sign_type", signRSA2), weak.Signature(text)), options: rsaListed, code: codeSignature},
		"h no sign_type":                          {message: unnamed},
		"h no sign_type, RSA2 not listed":         {message: unnamed, options: onlyRSA, code: codeSignType},
		"h no sign_type, signed SHA-1":            {message: weak.Send(baseline(), weak.Signature(text)), options: rsaListed, code: codeSignature},
		"i MD5":                                   {message: strong.Send(baseline().With("sign_type", "MD5"), strong.Signature(text)), code: codeSignType},
		"trimmed values are another text":         {message: strong.Send(baseline().With("subject", " tea "), strong.Signature(baseline().With("subject", "tea").Text(forge.Rule{}))), code: codeSignature},
		"outer blanks stay":                       {message: strong.Sign(baseline().With("subject", " tea\t"))},
		"a field left out that is not empty":      {message: strong.Send(baseline().With("body", "x"), strong.Signature(text)), code: codeSignature},
		"empty left out and sign_type kept":       {message: forge.AlipaySigner{Rule: forge.Rule{DropEmpty: true, KeepSignType: true}}.Sign(withBody), code: codeSignature},
		"the key that is rotated in":              {message: forge.AlipaySigner{Key: forge.Alipay2Key}.Sign(baseline())},
		"a key that nobody configured":            {message: forge.AlipaySigner{Key: forge.StrangerKey}.Sign(baseline()), code: codeSignature},
		"certificate number is an ordinary field": {message: strong.Sign(baseline().With("alipay_cert_sn", "0123456789abcdef"))},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdapter(t)
			if c.options != nil {
				a = newAdapter(t, c.options)
			}
			if c.code != "" {
				refuse(t, a, at(c.message), provider.ErrSignature, c.code)
				return
			}
			if n := accept(t, a, at(c.message)); kinds(n) != "paid: paid" {
				t.Error(kinds(n))
			}
		})
	}
}

func TestP29EscapedQuotes(t *testing.T) {
	a := newAdapter(t)
	plain := baseline()
	signature := forge.AlipaySigner{}.Signature(plain.Text(forge.Rule{}))
	spoil := func(quote string) provider.Request {
		f := plain.With("fund_bill_list", strings.ReplaceAll(plain.Get("fund_bill_list"), `"`, quote))
		return at(forge.AlipaySigner{}.Send(f.With("sign_type", signRSA2), signature))
	}
	accept(t, a, spoil(`"`))
	refuse(t, a, spoil("&quot;"), provider.ErrSignature, codeHTMLEscaped)
	refuse(t, a, spoil("&#34;"), provider.ErrSignature, codeHTMLEscaped)
	refuse(t, a, spoil(`\"`), provider.ErrSignature, codeBackslashed)

	waiting := paidTrade()
	waiting.Status = waitBuyerPay
	accept(t, a, sign(waiting.Form().Without("fund_bill_list")))
	// A quote that was signed that way is no fault.
	accept(t, a, sign(plain.With("body", "&quot;")))
}

func TestLikelyCausesAreNamed(t *testing.T) {
	a := newAdapter(t)
	signature := plusSignature(t)
	form := baseline().With("sign_type", signRSA2).With("notify_id", signature.id)
	send := func(s string) provider.Request { return at(forge.AlipaySigner{}.Send(form, s)) }
	accept(t, a, send(signature.text))
	refuse(t, a, send(strings.ReplaceAll(signature.text, "+", " ")), provider.ErrSignature, codePlusLost)
	refuse(t, a, send(strings.ReplaceAll(signature.text, "+", "%2B")), provider.ErrSignature, codeEncodedTwice)
	gbk := baseline().GBK("gbk")
	converted := baseline().With("charset", "gbk").With("sign_type", signRSA2)
	refuse(t, a, at(forge.AlipaySigner{}.Send(converted, forge.AlipaySigner{}.Signature(gbk.Text(forge.Rule{})))), provider.ErrSignature, codeTranscoded)
}

type signed struct{ id, text string }

// plusSignature finds a notify_id with which the baseline's signature holds
// both letters of base64 that forms treat in their own way.
func plusSignature(t *testing.T) signed {
	for id := range 100 {
		s := signed{id: "n" + forge.Yuan(int64(id))}
		s.text = forge.AlipaySigner{}.Signature(baseline().With("notify_id", s.id).Text(forge.Rule{}))
		if strings.Contains(s.text, "+") && strings.Contains(s.text, "/") && strings.HasSuffix(s.text, "==") {
			return s
		}
	}
	t.Fatal("no signature with + and / among 100")
	return signed{}
}

func TestT02SignatureMissing(t *testing.T) {
	a := newAdapter(t)
	signature := forge.AlipaySigner{}.Signature(baseline().Text(forge.Rule{}))
	// Every subset of what proves or names the message.
	parts := []string{"sign", "sign_type", "app_id", "charset", "trade_status", "out_trade_no"}
	whole := baseline().With("sign_type", signRSA2).With("sign", signature)
	for subset := 1; subset < 1<<len(parts); subset++ {
		var gone []string
		for i, name := range parts {
			if subset&(1<<i) != 0 {
				gone = append(gone, name)
			}
		}
		req := body(string(whole.Without(gone...).Encode()))
		if len(gone) == 1 && gone[0] == "sign_type" {
			accept(t, a, req) // it is no part of the text, and RSA2 is what the account allows
			continue
		}
		if _, err := a.Parse(req); err == nil {
			t.Errorf("accepted without %v", gone)
		}
	}
	for _, value := range []string{"", " ", "undefined", "null", "0", "AA==", strings.Repeat("A", 344), strings.Repeat("A", 342) + "==", strings.Repeat("A", 1<<16)} {
		if _, err := a.Parse(body(string(baseline().With("sign_type", signRSA2).With("sign", value).Encode()))); err == nil {
			t.Errorf("accepted with sign %.20q", value)
		}
	}
	refuse(t, a, body(string(baseline().Encode())), provider.ErrSignature, codeNoSignature)
	refuse(t, a, body(string(baseline().With("sign", "").Encode())), provider.ErrSignature, codeNoSignature)
}

func TestT04AlgorithmIsPinned(t *testing.T) {
	a := newAdapter(t)
	weak, strong := forge.AlipaySigner{SignType: signRSA}, forge.AlipaySigner{}
	text := baseline().Text(forge.Rule{})
	for _, name := range []string{
		"RSA", "MD5", "rsa2", "Rsa2", " RSA2", "RSA2 ", "RSA2\n", "RSA2,RSA", "RSA,RSA2", "NONE", "none", "null", "", " ", "RSA3", "RSA256",
		"SHA256", "HMAC-SHA256", "DSA", "SM2", "RSA-2", "RSA2\x00", "RSA\x00", "ＲＳＡ２", "0", "RSASSA-PSS", "RS256", "HS256",
	} {
		for _, signature := range []string{weak.Signature(text), strong.Signature(text)} {
			refuse(t, a, at(strong.Send(baseline().With("sign_type", name), signature)), provider.ErrSignature, codeSignType)
		}
	}
}

// Refusing what names a forbidden algorithm, or no signature at all, runs no
// cryptography: without any key the answer is the same.
func TestT04RefusedBeforeAnyCryptography(t *testing.T) {
	a := newAdapter(t)
	a.ring.Store(nil) // touching the keys would panic
	good := forge.AlipaySigner{}.Signature(baseline().Text(forge.Rule{}))
	refuse(t, a, at(forge.AlipaySigner{}.Send(baseline().With("sign_type", "RSA"), good)), provider.ErrSignature, codeSignType)
	refuse(t, a, body(string(baseline().Encode())), provider.ErrSignature, codeNoSignature)
	refuse(t, a, at(forge.AlipaySigner{}.Send(baseline(), "no base64")), provider.ErrSignature, codePlusLost)
	refuse(t, a, at(forge.AlipaySigner{}.Send(baseline(), good+"\n")), provider.ErrSignature, codeSignatureForm)
	refuse(t, a, at(forge.AlipaySigner{}.Send(baseline().With("charset", "utf-16"), good)), provider.ErrSignature, codeCharset)
}

func TestT05AnotherMerchantsMessage(t *testing.T) {
	ours := newAdapter(t)
	theirs := newAdapter(t, func(o *Options) {
		o.AppID, o.SellerID, o.AuthAppIDs = "2021000000000009", "2088000000000002", nil
		o.PublicKeys = []KeyFile{{"stranger.pem"}}
	})
	// Another key.
	refuse(t, theirs, sign(baseline()), provider.ErrSignature, codeSignature)
	accept(t, ours, sign(baseline()))
	// The same key, as when one merchant has two applications: the numbers decide.
	shared := newAdapter(t, func(o *Options) { o.AppID, o.AuthAppIDs = "2021000000000009", nil })
	refuse(t, shared, sign(baseline()), provider.ErrForeign, codeForeignApp)
	// A number that the message brings never names a key: there is nothing to look up.
	for i := range 200 {
		f := baseline().With("alipay_cert_sn", forge.Yuan(int64(i))).With("sign_url", "http://127.0.0.1:1/key.pem")
		refuse(t, ours, at(forge.AlipaySigner{Key: forge.StrangerKey}.Sign(f)), provider.ErrSignature, codeSignature)
	}
}

// T14: in this package nothing that is a signature is compared with == or
// bytes.Equal; the only comparison is the RSA verification itself.
func TestT14SignaturesAreNotComparedByHand(t *testing.T) {
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range names {
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch e := n.(type) {
			case *ast.BinaryExpr:
				if e.Op == token.EQL || e.Op == token.NEQ {
					seen++
					if namesProof(e.X) || namesProof(e.Y) {
						t.Errorf("%s: a signature is compared", files.Position(e.Pos()))
					}
				}
			case *ast.CallExpr:
				if f, ok := e.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Equal" || f.Sel.Name == "EqualFold") {
					for _, arg := range e.Args {
						if namesProof(arg) {
							t.Errorf("%s: a signature is compared", files.Position(e.Pos()))
						}
					}
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Fatal("the test saw no comparison at all: it looks at nothing")
	}
	for _, value := range []string{"proof", "given", "signature"} {
		if !namesProof(ast.NewIdent(value)) {
			t.Fatalf("the test does not know %s", value)
		}
	}
}

// namesProof says whether an expression is a variable that holds a signature.
func namesProof(e ast.Expr) bool {
	ident, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	switch strings.ToLower(ident.Name) {
	case "sign", "sig", "signature", "mac", "proof", "given":
		return true
	}
	return false
}
