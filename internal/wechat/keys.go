package wechat

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

// v3KeyLength is that of an AES-256 key: the API v3 key is used as it is.
const v3KeyLength = 32

// keySet is all the keys of an account, made ready for use and never changed: a
// reload makes another one.
type keySet struct {
	platform map[string]*platformKey // by normal serial or public key id
	order    []*platformKey          // as configured
	v3       cipher.AEAD             // nil: v3 is refused
	v2       *v2Key                  // nil: v2 is refused
	v3Print  string                  // fingerprints of the two secrets, for people
	v2Print  string
	v3Secret provider.Secret   // the API v3 key as text, to tell when it stands in the other's place
	digest   [sha256.Size]byte // of all that was read from files
}

// platformKey is a key with which WeChat Pay signs.
type platformKey struct {
	id       string
	kind     string
	subject  string // a certificate's common name
	notAfter time.Time
	public   *rsa.PublicKey
}

// The kinds of platform keys, as Keys shows them.
const (
	kindPublicKey   = "public key"
	kindCertificate = "certificate"
)

// v2Key is the API v2 key in the three forms in which it is used.
type v2Key struct {
	tail []byte       // what follows the fields in the signed text
	ecb  cipher.Block // opens req_info, block by block
	macs sync.Pool    // of hash.Hash: HMAC-SHA256 under the key
}

// keyTail begins what follows the fields in the signed text.
const keyTail = "key="

func newV2Key(secret string) (*v2Key, error) {
	// The refund key is the text of the digest in small letters, not the digest.
	digest := md5.Sum([]byte(secret))
	ecb, err := aes.NewCipher([]byte(hex.EncodeToString(digest[:])))
	if err != nil {
		return nil, err
	}
	k := &v2Key{tail: []byte(keyTail + secret), ecb: ecb}
	k.macs.New = func() any { return hmac.New(sha256.New, []byte(secret)) }
	return k, nil
}

// secret is the key itself.
func (k *v2Key) secret() string { return string(k.tail[len(keyTail):]) }

// keyLoader reads an account's keys, and notes what is wrong and what it read.
type keyLoader struct {
	readFile func(string) ([]byte, error)
	problems provider.Problems
	digest   []byte
}

// loadKeys reads every key and secret file. The key set is of use only when
// there is no problem.
func loadKeys(o *Options, readFile func(string) ([]byte, error)) (*keySet, provider.Problems) {
	l := &keyLoader{readFile: readFile}
	ks := &keySet{platform: make(map[string]*platformKey)}
	v2 := l.secret("api_v2_key", o.APIv2Key, o.APIv2KeyFile)
	v3 := l.secret("api_v3_key", o.APIv3Key, o.APIv3KeyFile)
	for i, entry := range o.PublicKeys {
		l.publicKey(ks, fmt.Sprintf("public_keys[%d]", i), entry)
	}
	for i, entry := range o.Certificates {
		l.certificate(ks, fmt.Sprintf("certificates[%d].file", i), entry.File, o.MchID)
	}
	ks.v2Print, ks.v3Print, ks.v3Secret = fingerprint(v2), fingerprint(v3), provider.Secret(v3)
	var err error
	if v2 != "" {
		if ks.v2, err = newV2Key(v2); err != nil {
			l.problems.Add("api_v2_key", "cannot be used: %v", err)
		}
	}
	if v3 != "" {
		if ks.v3, err = newV3Key(v3); err != nil {
			l.problems.Add("api_v3_key", "%v", err)
		}
		if len(o.PublicKeys) == 0 && len(o.Certificates) == 0 {
			l.problems.Add("api_v3_key", "needs public_keys or certificates beside it: without WeChat Pay's key no v3 message can be verified")
		}
	}
	if !o.hasKey() {
		l.problems.Add("", "has no key: set api_v3_key (with public_keys or certificates) or api_v2_key")
	}
	ks.digest = sha256.Sum256(l.digest)
	return ks, l.problems
}

// fingerprint says what it is, so that nobody takes it for a part of the key. It
// is short enough to tell nothing of a key of 32 random letters, and
// long enough to tell two apart.
func fingerprint(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(sum[:4])
}

func (o *Options) hasKey() bool {
	return o.APIv2Key != "" || o.APIv2KeyFile != "" || o.APIv3Key != "" || o.APIv3KeyFile != ""
}

func newV3Key(secret string) (cipher.AEAD, error) {
	if len(secret) != v3KeyLength {
		return nil, fmt.Errorf("has %d bytes, an API v3 key has %d: copy it again from the console", len(secret), v3KeyLength)
	}
	block, err := aes.NewCipher([]byte(secret))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// file reads a key file and notes its bytes.
func (l *keyLoader) file(field, path string) ([]byte, bool) {
	if path == "" {
		l.problems.Add(field, "is missing: the path of the key file")
		return nil, false
	}
	content, err := l.readFile(path)
	if err != nil {
		l.problems.Add(field, "cannot be read: %v", err)
		return nil, false
	}
	l.digest = binary.BigEndian.AppendUint64(l.digest, uint64(len(content)))
	l.digest = append(l.digest, content...)
	return content, true
}

// secret is the text of a secret that stands in the options or in a file. One
// trailing newline of a file is cut, for editors add it.
func (l *keyLoader) secret(name string, value provider.Secret, path string) string {
	if path == "" {
		return value.Reveal()
	}
	if value != "" {
		l.problems.Add(name, "and %s_file are both set: keep one", name)
		return ""
	}
	content, ok := l.file(name+"_file", path)
	if !ok {
		return ""
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	content = bytes.TrimSuffix(content, []byte("\r"))
	if len(content) == 0 {
		l.problems.Add(name+"_file", "is empty")
	}
	return string(content)
}

func (l *keyLoader) publicKey(ks *keySet, field string, entry PublicKeyFile) {
	if !isPublicKeyID(entry.ID) {
		l.problems.Add(field+".id", "%q is not the id of a WeChat Pay public key: %s and digits, as the console shows it", entry.ID, publicKeyIDPrefix)
	}
	content, ok := l.file(field+".file", entry.File)
	if !ok {
		return
	}
	public, err := parsePublicKey(content)
	if err != nil {
		l.problems.Add(field+".file", "%v", err)
		return
	}
	l.add(ks, field+".id", &platformKey{id: entry.ID, kind: kindPublicKey, public: public})
}

func (l *keyLoader) certificate(ks *keySet, field, path, mchid string) {
	content, ok := l.file(field, path)
	if !ok {
		return
	}
	cert, public, err := parseCertificate(content)
	if err == nil && cert.Subject.CommonName == mchid {
		err = errors.New("is the merchant's own certificate; WeChat Pay signs with its platform certificate: download that one")
	}
	if err != nil {
		l.problems.Add(field, "%v", err)
		return
	}
	l.add(ks, field, &platformKey{id: serialOf(cert), kind: kindCertificate, subject: cert.Subject.CommonName, notAfter: cert.NotAfter, public: public})
}

func (l *keyLoader) add(ks *keySet, field string, k *platformKey) {
	if known := ks.platform[k.id]; known != nil {
		// The same certificate in two files is one: at the end of a rotation people
		// copy the new file over the old one. An id that stands twice in the
		// options has been named already.
		if !known.public.Equal(k.public) && k.kind == kindCertificate {
			l.problems.Add(field, "certificate %s stands in the account twice, with different keys", k.id)
		}
		return
	}
	ks.platform[k.id] = k
	ks.order = append(ks.order, k)
}

// Reload reads the key and secret files again. When one of them is at fault the
// keys in use stay as they are, and the error is a provider.Problems.
func (a *Adapter) Reload() (changed bool, err error) {
	a.reload.Lock()
	defer a.reload.Unlock()
	ks, problems := loadKeys(&a.options, a.env.ReadFile)
	if err := asProblem(problems); err != nil {
		return false, err
	}
	if ks.digest == a.keys.Load().digest {
		return false, nil
	}
	a.keys.Store(ks)
	return true, nil
}

// Keys describes the keys in use. The two API keys have no id of their own and
// show a fingerprint, by which two deployments can be compared.
func (a *Adapter) Keys() []provider.KeyInfo {
	ks := a.keys.Load()
	infos := make([]provider.KeyInfo, 0, len(ks.order)+2)
	for _, k := range ks.order {
		infos = append(infos, provider.KeyInfo{ID: k.id, Kind: k.kind, NotAfter: k.notAfter})
	}
	if ks.v3 != nil {
		infos = append(infos, provider.KeyInfo{ID: ks.v3Print, Kind: "api v3 key"})
	}
	if ks.v2 != nil {
		infos = append(infos, provider.KeyInfo{ID: ks.v2Print, Kind: "api v2 key"})
	}
	return infos
}
