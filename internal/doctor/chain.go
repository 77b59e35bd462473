package doctor

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// siteKeyEndsSoon is when the certificate of the site wants attention:
// whoever renews it automatically has done so by then.
const siteKeyEndsSoon = 7 * day

// chain judges how the server proves who it is. Nothing is fetched to complete
// a chain: a provider does not either.
func (x *examination) chain(v *visit) bool {
	account := v.account.Name
	if v.url.Scheme != "https" {
		x.skip(URLChain, account, "there is no TLS")
		return true
	}
	var unproven *tls.CertificateVerificationError
	if errors.As(v.err, &unproven) {
		x.fail(URLChain, account, chainFix(unproven), "%s does not prove who it is: %s", v.url.Host, chainText(unproven))
		x.skipFrom(urlPart, URLReach, account, "the provider would not send anything")
		return false
	}
	if v.err != nil || v.answer.TLS == nil || len(v.answer.TLS.PeerCertificates) == 0 {
		x.skip(URLChain, account, "no connection was made")
		return true
	}
	sent := v.answer.TLS.PeerCertificates
	if left := sent[0].NotAfter.Sub(x.Now()); left < siteKeyEndsSoon {
		x.warn(URLChain, account, "renew it, and look why that did not happen by itself", "the certificate of %s ends in %s", v.url.Host, shortTime(left))
		return true
	}
	x.ok(URLChain, account, "complete, %s, until %s", counted(len(sent), "certificate"), sent[0].NotAfter.In(beijing).Format(time.DateOnly))
	return true
}

func chainText(e *tls.CertificateVerificationError) string {
	if isIncomplete(e) {
		return fmt.Sprintf("it sends %s and not the ones between it and the root", counted(len(e.UnverifiedCertificates), "certificate"))
	}
	return e.Err.Error()
}

func chainFix(e *tls.CertificateVerificationError) string {
	if isIncomplete(e) {
		return "let the proxy send the whole chain (fullchain.pem): browsers fetch what is missing, providers do not"
	}
	return "give the proxy a certificate for this name from an authority that everybody trusts (a private one for tests: --ca FILE)"
}

// isIncomplete says that the chain stops at a certificate which somebody else
// has issued, and which is not known here.
func isIncomplete(e *tls.CertificateVerificationError) bool {
	var unknown x509.UnknownAuthorityError
	if !errors.As(e.Err, &unknown) || len(e.UnverifiedCertificates) == 0 {
		return false
	}
	last := e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1]
	return !bytes.Equal(last.RawIssuer, last.RawSubject)
}
