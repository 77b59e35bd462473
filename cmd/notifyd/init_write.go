package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/notifyd/notifyd/internal/newfile"
)

// What init makes is for its owner alone: it holds secrets, and who may write
// the configuration decides whose keys are believed.
const (
	setupFolderMode = 0o700
	setupFileMode   = newfile.Mode
)

// setupFolders are made beside the configuration.
func (s *setup) folders() []string {
	folders := []string{"secrets", "keys", "data"}
	if s.Test {
		folders = []string{"secrets", "data", testKeysFolder}
	}
	return folders
}

// clear says what would have to be written over: nothing is.
func (s *setup) clear() error {
	names := []string{configName, "secrets/admin_token", "secrets/api_key_k1", "secrets/api_v3_key"}
	if s.Test {
		names = append(names, "secrets/api_v2_key", "secrets/alipay_aes_key", testKeysFolder)
	}
	if s.Wechat.keyFile != "" {
		names = append(names, "keys/wechatpay_pub.pem")
	}
	if s.Alipay.keyFile != "" {
		names = append(names, "keys/alipay_public_key.pem")
	}
	for _, name := range names {
		if err := s.absent(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *setup) absent(name string) error {
	_, err := os.Lstat(s.path(name))
	switch {
	case err == nil:
		return s.taken(name)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return exitWith(exitFailed, "%s cannot be made: %w", s.path(name), withoutPath(err))
}

func (s *setup) taken(name string) error {
	return exitWith(exitFailed, "%s is there already, and nothing is written over: name another folder, or move it away. Nothing was written", s.path(name))
}

// writing is what was made so far, so that a failure leaves nothing behind.
type writing struct {
	setup *setup
	made  []string // files and folders, in order
	files []newFile
	open  []string // folders that were there and that others can look into
}

// write makes folders and files: all, or none.
func (s *setup) write() (*writing, error) {
	w := &writing{setup: s}
	if err := w.all(); err != nil {
		return nil, errors.Join(err, w.undo())
	}
	return w, nil
}

func (w *writing) all() error {
	s := w.setup
	if err := w.folder(s.dir); err != nil {
		return err
	}
	for _, name := range s.folders() {
		if err := w.folder(s.path(name)); err != nil {
			return err
		}
		if at, err := os.Stat(s.path(name)); err == nil && at.Mode().Perm()&^setupFolderMode != 0 {
			w.open = append(w.open, s.path(name))
		}
	}
	for _, f := range s.files {
		if _, err := os.Lstat(s.path(f.name)); err == nil && path.Base(f.name) == path.Base(ignoreFile) {
			continue // the owner's own: it stays
		}
		if err := w.file(f); err != nil {
			return err
		}
	}
	if s.keys == nil {
		return nil
	}
	if err := s.keys.Save(s.path(testKeysFolder)); err != nil {
		return exitWith(exitFailed, "the keys of the simulated provider cannot be written: %w", err)
	}
	// They are not in made: undo takes the whole folder, which was new.
	w.files = append(w.files, newFile{name: testKeysFolder + "/", what: "throw-away keys, for notifyd simulate"})
	return w.file(newFile{testKeysFolder + ignoreFile, ignoreAll, "keeps this folder out of Git"})
}

// folder makes a folder and those above it. One that is there stays as it is.
func (w *writing) folder(dir string) error {
	if at, err := os.Stat(dir); err == nil && at.IsDir() {
		return nil
	}
	if above := filepath.Dir(dir); above != dir {
		if err := w.folder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, setupFolderMode); err != nil {
		return exitWith(exitFailed, "the folder %s cannot be made: %w", dir, withoutPath(err))
	}
	w.made = append(w.made, dir)
	return nil
}

func (w *writing) file(f newFile) error {
	name := w.setup.path(f.name)
	err := newfile.Write(name, f.text)
	switch {
	case errors.Is(err, fs.ErrExist): // also when somebody else wrote it in this moment
		return w.setup.taken(f.name)
	case err != nil:
		return exitWith(exitFailed, "%s cannot be written: %w", name, withoutPath(err))
	}
	w.made = append(w.made, name)
	w.files = append(w.files, f)
	return nil
}

// undo takes away what was made, the last first.
func (w *writing) undo() (err error) {
	for i := len(w.made) - 1; i >= 0; i-- {
		remove := os.Remove
		if w.setup.keys != nil && path.Base(filepath.ToSlash(w.made[i])) == testKeysFolder {
			remove = os.RemoveAll
		}
		err = errors.Join(err, remove(w.made[i]))
	}
	return err
}
