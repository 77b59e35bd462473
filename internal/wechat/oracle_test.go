package wechat

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth/verifiers"
	"github.com/wechatpay-apiv3/wechatpay-go/core/notify"
	"github.com/wechatpay-apiv3/wechatpay-go/utils"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The tests here ask code of other authors about the same bytes: the provider's
// own library about v3, the standard library's XML decoder about v2.

// oracle is the provider's library, set up with the throw-away keys.
func oracle(t testing.TB) *notify.Handler {
	t.Helper()
	var certs []*x509.Certificate
	for _, text := range [][]byte{forge.WechatCertificatePEM(), forge.Wechat2CertificatePEM()} {
		cert, err := utils.LoadCertificate(string(text))
		if err != nil {
			t.Fatal(err)
		}
		certs = append(certs, cert)
	}
	var verifier auth.Verifier = verifiers.NewSHA256WithRSACombinedVerifier(
		core.NewCertificateMapWithList(certs), forge.WechatPublicKeyID, forge.WechatPublicKey.Private().PublicKey)
	handler, err := notify.NewRSANotifyHandler(forge.WechatV3Key, verifier)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// httpRequest is the request as the library wants it.
func httpRequest(req provider.Request) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/notify/wechat", bytes.NewReader(req.Body))
	r.Header = req.Header
	return r
}

// TestLibraryAgreesOnV3 sends the same messages to both. The library has only the
// wall clock, so these are signed now.
func TestLibraryAgreesOnV3(t *testing.T) {
	a, handler := newAdapter(t, asPartner(subID)), oracle(t)
	now := time.Now()
	for name, e := range genuineEvents() {
		for _, key := range []forge.Key{forge.PlatformKey, forge.WechatPublicKey} {
			req := forge.WechatV3Signer{Key: key}.Notify(e, now).At(now)
			var content json.RawMessage
			parsed, err := handler.ParseNotifyRequest(context.Background(), httpRequest(req), &content)
			if err != nil {
				t.Errorf("%s: the library refuses what the forge made: %v", name, err)
				continue
			}
			n := accept(t, a, req)
			if parsed.ID != n.ProviderID || !bytes.Equal(content, e.Content) {
				t.Errorf("%s: id %q and content %s, here %q", name, parsed.ID, content, n.ProviderID)
			}
			for header := range req.Header {
				if header == "Content-Type" {
					continue
				}
				changed := req
				changed.Header = req.Header.Clone()
				changed.Header.Set(header, "x"+req.Header.Get(header))
				_, theirs := handler.ParseNotifyRequest(context.Background(), httpRequest(changed), &content)
				_, ours := a.Parse(changed)
				if (theirs == nil) != (ours == nil) {
					t.Errorf("%s, %s changed: the library says %v, here %v", name, header, theirs, ours)
				}
			}
		}
	}
}

// decodedXML reads a document with the standard library: the children of the
// root by name, or false when it is not well-formed or has another shape.
func decodedXML(src []byte) (map[string]string, bool) {
	d := xml.NewDecoder(bytes.NewReader(src))
	fields := map[string]string{}
	depth, name, text := 0, "", ""
	for {
		token, err := d.Token()
		if err != nil {
			return fields, depth == 0 && err.Error() == "EOF"
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 2 {
				name, text = token.Name.Local, ""
			}
		case xml.EndElement:
			if depth--; depth == 1 {
				fields[name] = text
			}
		case xml.CharData:
			text += string(token)
		}
	}
}

// agreesWithDecoder checks that what flatXML reads, the standard library reads
// in the same way.
func agreesWithDecoder(t *testing.T, src []byte, x *flatXML) {
	t.Helper()
	// Line ends are normalised by the decoder, and stay as they are here.
	if bytes.ContainsRune(src, '\r') || bytes.Contains(src, []byte("&#13;")) || bytes.Contains(bytes.ToLower(src), []byte("&#xd;")) {
		return
	}
	want, ok := decodedXML(src)
	if !ok {
		t.Fatalf("the standard library does not read %q", src)
	}
	if len(want) != len(x.fields) {
		t.Fatalf("%d fields, the standard library has %d: %q", len(x.fields), len(want), src)
	}
	for _, f := range x.fields {
		if want[string(f.name)] != string(f.value) {
			t.Fatalf("%s is %q, the standard library has %q", f.name, f.value, want[string(f.name)])
		}
	}
}

func TestDecoderAgreesOnV2(t *testing.T) {
	for _, f := range genuineFieldsV2() {
		body := f.With("attach", "a<b>&c]]>d 茶").XML("xml")
		var x flatXML
		if fault := x.read(body, "xml"); fault != nil {
			t.Fatalf("%+v", fault)
		}
		agreesWithDecoder(t, body, &x)
	}
}
