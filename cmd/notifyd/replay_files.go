package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/internal/provider"
)

// captureSuffix is the extension of capture files.
const captureSuffix = ".http"

// captured is a capture and where it stands.
type captured struct {
	path string
	raw  []byte // the whole file
	provider.Captured
}

// capturePaths are the captures that the arguments name: files as given, of a
// folder the .http files in it, sorted by name.
func capturePaths(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		stat, err := os.Stat(arg)
		if err != nil {
			return nil, exitWith(exitUsage, "%w", err)
		}
		if !stat.IsDir() {
			paths = append(paths, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, exitWith(exitUsage, "%w", err)
		}
		before := len(paths)
		for _, e := range entries {
			if !e.IsDir() && filepath.Ext(e.Name()) == captureSuffix {
				paths = append(paths, filepath.Join(arg, e.Name()))
			}
		}
		if len(paths) == before {
			return nil, exitWith(exitUsage, "there is no %s file in the folder %s", captureSuffix, arg)
		}
	}
	return paths, nil
}

// checkCaptures reads every capture once, lists what is wrong with all of them,
// and returns those to play. They are read again when they are played: together
// they may be larger than the memory. skip is asked about one that is not
// complete, and says whether the others are played without it.
func checkCaptures(ctx context.Context, paths []string, skip func(path string, why error) bool, check func(captured) error) (whole []string, err error) {
	var faults []error
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := readCapture(path)
		if err == nil {
			if err = c.complete(); err != nil && skip(path, err) {
				continue
			}
		}
		if err == nil {
			err = check(c)
		}
		if err != nil {
			faults = append(faults, err)
		}
		whole = append(whole, path)
	}
	switch {
	case len(faults) == 0 && len(whole) == 0:
		return nil, exitWith(exitUsage, "no capture is left to play")
	case len(faults) == 0:
		return whole, nil
	case len(faults) == 1:
		return nil, exitWith(exitUsage, "%w", faults[0])
	}
	text := ""
	for _, f := range faults {
		text += "\n  " + f.Error()
	}
	return nil, exitWith(exitUsage, "%d captures cannot be played:%s", len(faults), text)
}

// maxCaptureFileBytes is above the largest capture, so that one which is too
// large is told so; a path to a device must not fill the memory.
const maxCaptureFileBytes = 2 << 20

func readCapture(path string) (captured, error) {
	f, err := os.Open(path)
	if err != nil {
		return captured{}, exitWith(exitUsage, "%w", err)
	}
	defer f.Close()
	c := captured{path: path}
	c.raw, err = io.ReadAll(io.LimitReader(f, maxCaptureFileBytes))
	if err == nil {
		c.Captured, err = provider.ReadCapture(bytes.NewReader(c.raw))
	}
	if err == nil {
		_, err = url.ParseRequestURI(c.Target)
	}
	if err != nil {
		return captured{}, exitWith(exitUsage, "%s: %w", path, err)
	}
	return c, nil
}

// complete refuses a capture that says itself that its body is not the one that
// was sent: no signature over it can hold, and that would look like another fault.
func (c captured) complete() error {
	switch {
	case c.Cut != "":
		return fmt.Errorf("%s holds a part of its body only (%s: %s): it can be neither verified nor played%s", c.where(), provider.MarkCut, shown(c.Cut), c.serverSaid())
	case c.Redacted != "":
		return fmt.Errorf("%s was redacted (%s: %s): what is left cannot be proven%s", c.where(), provider.MarkRedacted, shown(c.Redacted), c.serverSaid())
	}
	return nil
}

// serverSaid is what is known all the same of a capture that nobody can judge
// any more.
func (c captured) serverSaid() string {
	if c.Unverified == "" {
		return ""
	}
	code := shown(c.Unverified)
	return "; the server refused it with " + code + ": notifyd help " + code
}

// request is the capture as a server would have it.
func (c captured) request() *http.Request {
	target, err := url.ParseRequestURI(c.Target)
	if err != nil {
		panic(fmt.Sprintf("%s was checked: %v", c.path, err)) // readCapture does
	}
	header := c.Header.Clone()
	header.Del("Host") // where servers find it is no header field
	return &http.Request{Method: c.Method, URL: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(c.Body))}
}
