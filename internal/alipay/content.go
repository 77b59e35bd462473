package alipay

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// content is the message as a JSON object of its fields, in UTF-8, without the
// signature. Tokens in it (open_app_auth_notify) are the merchant's: they are
// kept here and appear nowhere else.
func (m message) content(key cipher.Block) []byte {
	fields := make(map[string]string, len(m.form))
	for _, p := range m.form {
		if isSignature(p.name) {
			continue
		}
		fields[p.name] = m.charset.show(p.value)
	}
	if m.get("encrypt_type") == "AES" && key != nil {
		if plain, ok := decryptCBC(key, m.get("biz_content")); ok {
			fields["biz_content"] = m.charset.show(plain)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is no page
	if err := encoder.Encode(fields); err != nil {
		return nil // cannot happen: a map of strings
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// decryptCBC reads what the message service encrypts: base64 of AES-CBC with
// PKCS #7 padding and an IV of zeros. It runs on verified messages only, so the
// padding tells nobody anything.
// Source: Alipay docs, "interface content encryption".
func decryptCBC(key cipher.Block, text string) (string, bool) {
	sealed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return "", false
	}
	cipher.NewCBCDecrypter(key, make([]byte, aes.BlockSize)).CryptBlocks(sealed, sealed)
	pad := int(sealed[len(sealed)-1])
	if pad < 1 || pad > aes.BlockSize || !bytes.Equal(sealed[len(sealed)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return "", false
	}
	return string(sealed[:len(sealed)-pad]), true
}
