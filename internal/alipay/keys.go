package alipay

import (
	"bytes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// keyring is the keys in use; it is replaced whole or not at all.
type keyring struct {
	keys  []key
	aes   cipher.Block // nil: contents of messages are not decrypted
	files [sha256.Size]byte
}

type key struct {
	public *rsa.PublicKey
	info   provider.KeyInfo
}

// Keys describes the keys in use.
func (a *Adapter) Keys() []provider.KeyInfo {
	ring := a.ring.Load()
	infos := make([]provider.KeyInfo, len(ring.keys))
	for i, k := range ring.keys {
		infos[i] = k.info
	}
	return infos
}

// Reload reads the key files again. When one of them cannot be used, nothing
// changes and the error says what is wrong with all of them.
func (a *Adapter) Reload() (changed bool, err error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	ring, problems := a.load()
	if len(problems) > 0 {
		return false, problems
	}
	if ring.files == a.ring.Load().files {
		return false, nil
	}
	a.ring.Store(ring)
	return true, nil
}

// load reads every key file and reports every fault.
func (a *Adapter) load() (*keyring, provider.Problems) {
	l := loader{a: a, known: map[string]bool{}, files: sha256.New()}
	for i, f := range a.options.PublicKeys {
		l.add(fmt.Sprintf("public_keys[%d].file", i), f.File, readPublicKey)
	}
	for i, f := range a.options.Certificates {
		l.add(fmt.Sprintf("certificates[%d].file", i), f.File, a.readCertificate)
	}
	ring := &keyring{keys: l.keys, aes: l.contentKey()}
	l.files.Sum(ring.files[:0])
	return ring, l.problems
}

// loader gathers keys and faults.
type loader struct {
	a        *Adapter
	keys     []key
	known    map[string]bool // fingerprints
	files    hash.Hash       // of all that was read
	problems provider.Problems
}

// read reads a file; nil with a problem when it cannot.
func (l *loader) read(field, path string) []byte {
	if path == "" {
		l.problems.Add(field, "is missing")
		return nil
	}
	content, err := l.a.env.ReadFile(path)
	if err != nil {
		l.problems.Add(field, "cannot be read: %v", err)
		return nil
	}
	fmt.Fprintf(l.files, "%s %d ", field, len(content))
	_, _ = l.files.Write(content) // a hash does not fail
	if len(bytes.TrimSpace(content)) == 0 {
		l.problems.Add(field, "%s is empty", path)
		return nil
	}
	return content
}

func (l *loader) add(field, path string, parse func([]byte) (key, error)) {
	content := l.read(field, path)
	if content == nil {
		return
	}
	k, err := parse(content)
	if err == nil {
		err = l.a.checkStrength(k.public)
	}
	if err != nil {
		l.problems.Add(field, "%s %v", path, err)
		return
	}
	// The same key in two files is one key: at the end of a rotation people copy
	// the new file over the old one, and the old key must then be gone.
	id := fingerprint(k.public)
	if l.known[id] {
		return
	}
	l.known[id] = true
	l.keys = append(l.keys, k)
}

// Bounds of a key's length: RSA2 is given out with 2048 bits; the old RSA has
// 1024. Longer ones than the upper bound only burn time.
const (
	minKeyBits    = 2048
	minOldKeyBits = 1024
	maxKeyBits    = 4096
)

func (a *Adapter) checkStrength(public *rsa.PublicKey) error {
	least := minKeyBits
	for _, name := range a.signTypes {
		if name == signRSA {
			least = minOldKeyBits
		}
	}
	if bits := public.N.BitLen(); bits < least || bits > maxKeyBits {
		return fmt.Errorf("holds a key of %d bits: %d to %d are accepted", bits, least, maxKeyBits)
	}
	return nil
}

// contentKey is the key of encrypted message contents, nil when there is none.
func (l *loader) contentKey() cipher.Block {
	field, text := "aes_key", l.a.options.AESKey.Reveal()
	if path := l.a.options.AESKeyFile; path != "" && text == "" {
		field = "aes_key_file"
		content := l.read(field, path)
		if content == nil {
			return nil
		}
		text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	}
	if text == "" {
		return nil
	}
	block, err := readAESKey(text)
	if err != nil {
		l.problems.Add(field, "%v", err)
	}
	return block
}

var errAESKey = errors.New("is not the base64 of 16, 24 or 32 bytes that the console shows as the content encryption key")
