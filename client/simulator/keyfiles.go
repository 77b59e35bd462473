package simulator

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/notifyd/notifyd/internal/newfile"
)

// The files of a folder of keys. Those of the public halves are what an
// account's configuration names.
const (
	PlatformCertFile     = "wechat_platform_cert.pem"
	NextPlatformCertFile = "wechat_platform_next_cert.pem"
	PublicKeyFile        = "wechat_public_key.pem"
	AlipayPublicKeyFile  = "alipay_public_key.pem"

	platformKeyFile     = "wechat_platform_private.pem"
	nextPlatformKeyFile = "wechat_platform_next_private.pem"
	publicKeyKeyFile    = "wechat_public_key_private.pem"
	alipayKeyFile       = "alipay_private.pem"
)

const (
	// Mark stands above every file of keys. Private keys without it are refused:
	// nobody shall sign simulated messages with the keys of a real business.
	Mark = "THROW-AWAY, TEST ONLY: made to simulate a payment provider, protects nothing."

	// idHeader is the PEM header of the WeChat Pay public key's id.
	idHeader = "Public-Key-Id"
	// maxKeyFileBytes is far above any key or certificate.
	maxKeyFileBytes = 64 << 10
	folderMode      = 0o700
)

// ErrNoKeys is what LoadKeys says of a folder without keys.
var ErrNoKeys = errors.New("there are no keys of a simulated provider")

// Save writes the keys to a folder, which is made when it is not there. A file
// that exists is never written over: something may be configured with it.
func (k *Keys) Save(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	files := []struct {
		name string
		text []byte
	}{
		{PlatformCertFile, k.Platform.PEM},
		{NextPlatformCertFile, k.NextPlatform.PEM},
		{PublicKeyFile, k.PublicKey.PEM()},
		{AlipayPublicKeyFile, k.AlipayPEM()},
		{platformKeyFile, privatePEM(k.Platform.Private, "")},
		{nextPlatformKeyFile, privatePEM(k.NextPlatform.Private, "")},
		{publicKeyKeyFile, privatePEM(k.PublicKey.Private, k.PublicKey.ID)},
		{alipayKeyFile, privatePEM(k.Alipay, "")},
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return fmt.Errorf("%s: %w; nothing was written", filepath.Join(dir, f.name), fs.ErrExist)
		}
	}
	for _, f := range files {
		if err := newfile.Write(filepath.Join(dir, f.name), append([]byte(Mark+"\n"), f.text...)); err != nil {
			return err
		}
	}
	return nil
}

func privatePEM(key *rsa.PrivateKey, id string) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err) // an RSA key always marshals
	}
	block := &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	if id != "" {
		block.Headers = map[string]string{idHeader: id}
	}
	return pem.EncodeToMemory(block)
}

// LoadKeys reads the keys that Save wrote.
func LoadKeys(dir string) (*Keys, error) {
	if _, err := os.Stat(filepath.Join(dir, platformKeyFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: notifyd init --test makes them", ErrNoKeys, dir)
	}
	l := loader{dir: dir}
	k := &Keys{
		Platform:     l.certificate(PlatformCertFile, platformKeyFile),
		NextPlatform: l.certificate(NextPlatformCertFile, nextPlatformKeyFile),
	}
	var block *pem.Block
	k.PublicKey.Private, block = l.private(publicKeyKeyFile)
	if l.err == nil {
		if k.PublicKey.ID = block.Headers[idHeader]; !strings.HasPrefix(k.PublicKey.ID, publicKeyIDPrefix) {
			l.fail(publicKeyKeyFile, "names no %s", idHeader)
		}
	}
	k.Alipay, _ = l.private(alipayKeyFile)
	if l.err != nil {
		return nil, l.err
	}
	return k, nil
}

// loader reads files of one folder until one is at fault.
type loader struct {
	dir string
	err error
}

func (l *loader) fail(name, format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("%s "+format, append([]any{filepath.Join(l.dir, name)}, args...)...)
	}
}

// block reads the one PEM block of a marked file.
func (l *loader) block(name, kind string) *pem.Block {
	if l.err != nil {
		return nil
	}
	f, err := os.Open(filepath.Join(l.dir, name))
	if err != nil {
		l.err = err
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		l.err = err
		return nil
	}
	if !bytes.HasPrefix(text, []byte(Mark)) {
		l.fail(name, "is not marked as a throw-away key: the simulator signs with keys of its own alone, never with those of a real business")
		return nil
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		l.fail(name, "holds no PEM block %s", kind)
		return nil
	}
	return block
}

func (l *loader) private(name string) (*rsa.PrivateKey, *pem.Block) {
	block := l.block(name, "PRIVATE KEY")
	if block == nil {
		return nil, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		l.fail(name, "does not hold an RSA key") // never why: that could show a part of it
		return nil, nil
	}
	if bits := key.N.BitLen(); bits < keyBits { // receivers refuse it, and a short one cannot sign
		l.fail(name, "holds a key of %d bits, with which no provider signs: %d at least", bits, keyBits)
		return nil, nil
	}
	return key, block
}

func (l *loader) certificate(certName, keyName string) Certificate {
	block := l.block(certName, "CERTIFICATE")
	key, _ := l.private(keyName)
	if l.err != nil {
		return Certificate{}
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		l.fail(certName, "holds no certificate that can be read: %v", err)
		return Certificate{}
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		l.fail(certName, "is not the certificate of the key in %s", keyName)
		return Certificate{}
	}
	return Certificate{Serial: strings.ToUpper(cert.SerialNumber.Text(16)), PEM: pem.EncodeToMemory(block), Private: key}
}
