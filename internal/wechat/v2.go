package wechat

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"hash"

	"github.com/notifyd/notifyd/internal/order"
)

// blanks are what a signer that trims its values may have cut.
const blanks = " \t\r\n"

// parseV2 reads the envelope and takes one of two ways to a proof: req_info that
// opens under our key, or a sign that holds.
func (m *message) parseV2() (order.Notification, error) {
	x := &m.xml
	if fault := x.read(m.req.Body, "xml"); fault != nil {
		return order.Notification{}, fault.refusal()
	}
	if err := onceEach(m.req.Header); err != nil {
		return order.Notification{}, err
	}
	if m.keys.v2 == nil {
		return order.Notification{}, unproven(CodeNoV2Key, "the account has no API v2 key")
	}
	// A message that reports a failure of communication carries no sign: there is
	// nothing to prove it with. A combined payment has no return_code.
	switch code := x.get("return_code"); {
	case code == nil && !isCombinedV2(x):
		return order.Notification{}, unproven(CodeMissingField, "return_code is missing")
	case code != nil && string(code) != stateSuccess:
		return order.Notification{}, unproven(CodeReturnFail, "return_code is not SUCCESS")
	}
	reqInfo := x.get("req_info")
	// A refund has no sign; should one be there, it must hold.
	if reqInfo == nil || x.get("sign") != nil {
		if err := m.verifyV2(); err != nil {
			return order.Notification{}, err
		}
	}
	if reqInfo != nil {
		return m.refundV2(reqInfo)
	}
	return m.factsV2()
}

// verifyV2 checks sign over the fields as they are and, because one of the
// provider's own signers trims values, over the trimmed ones as well; then those
// are the fields from there on. Hex in small letters is refused.
//
// Source: WeChat Pay docs, v2, "signature algorithm".
func (m *message) verifyV2() error {
	x := &m.xml
	sign := x.get("sign")
	if sign == nil {
		return unproven(CodeNoSignature, "sign is missing")
	}
	signType, err := m.signType(sign)
	if err != nil {
		return err
	}
	claimed, ok := decodeUpperHex(m.signature[:0], sign)
	m.signature = claimed
	if !ok {
		return unproven(CodeSignature, "sign is not upper-case hex")
	}
	if m.digestV2(signType, false); subtle.ConstantTimeCompare(m.sum, claimed) == 1 {
		return nil
	}
	if !hasOuterBlanks(x.fields) {
		return unproven(CodeSignature, "sign does not hold under the API v2 key (%s)", signType)
	}
	if m.digestV2(signType, true); subtle.ConstantTimeCompare(m.sum, claimed) != 1 {
		return unproven(CodeSignature, "sign does not hold under the API v2 key (%s), values trimmed or not", signType)
	}
	for i := range x.fields {
		x.fields[i].value = bytes.Trim(x.fields[i].value, blanks)
	}
	return nil
}

// signType is the algorithm: what sign_type says, otherwise what the length of
// sign says, and only one that the account accepts.
func (m *message) signType(sign []byte) (string, error) {
	byLength := ""
	switch len(sign) {
	case 2 * md5.Size:
		byLength = signMD5
	case 2 * sha256.Size:
		byLength = signHMAC
	default:
		return "", unproven(CodeSignature, "sign has %d characters", len(sign))
	}
	if named := m.xml.get("sign_type"); named != nil && string(named) != byLength {
		return "", unproven(CodeSignType, "sign_type %s does not go with a sign of %d characters", quoted(named), len(sign))
	}
	if !m.a.options.accepts(byLength) {
		return "", unproven(CodeSignType, "%s is not among v2_sign_types", byLength)
	}
	return byLength, nil
}

// digestV2 leaves in m.sum the digest of the fields in order of their names,
// without sign and empty ones, followed by the key.
func (m *message) digestV2(signType string, trimmed bool) {
	m.text = m.text[:0]
	for _, f := range m.xml.fields {
		value := f.value
		if trimmed {
			value = bytes.Trim(value, blanks)
		}
		if len(value) == 0 || string(f.name) == "sign" {
			continue
		}
		m.text = append(append(append(append(m.text, f.name...), '='), value...), '&')
	}
	m.text = append(m.text, m.keys.v2.tail...)
	if signType == signMD5 {
		sum := md5.Sum(m.text)
		m.sum = append(m.sum[:0], sum[:]...)
		return
	}
	mac := m.keys.v2.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write(m.text)
	m.sum = mac.Sum(m.sum[:0])
	m.keys.v2.macs.Put(mac)
}

func hasOuterBlanks(fields []field) bool {
	for _, f := range fields {
		if len(f.value) != len(bytes.Trim(f.value, blanks)) {
			return true
		}
	}
	return false
}
