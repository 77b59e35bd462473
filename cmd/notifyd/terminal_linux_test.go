package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what is written to its inner end appears here.
type terminal struct{ outer, inner *os.File }

func openTerminal() (terminal, error) {
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return terminal{}, err
	}
	number, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: leastColumns})
	}
	var inner *os.File
	if err == nil {
		inner, err = os.OpenFile("/dev/pts/"+itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = outer.Close()
	}
	return terminal{outer, inner}, err
}

// onTerminal runs a program with a terminal of 80 columns at all three ends and
// wants its exit code. What appears there becomes stdout.
//
//	onterminal CODE PROGRAM ARG…
//	onterminal -in FILE CODE PROGRAM ARG…       types what the file holds
//	onterminal -int PATTERN CODE PROGRAM ARG…   interrupts it once that appears
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	var typed, pattern string
	for len(args) > 2 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-in":
			typed = ts.ReadFile(args[1])
		case "-int":
			pattern = args[1]
		}
		args = args[2:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: onterminal [-in FILE] [-int PATTERN] CODE PROGRAM ARG…")
	}
	tty, err := openTerminal()
	ts.Check(err)
	defer tty.outer.Close()
	c := scriptProgram(ts, args[1:])
	c.Stdin, c.Stdout, c.Stderr = tty.inner, tty.inner, tty.inner
	err = c.Start()
	_ = tty.inner.Close() // the program has it now, and the screen ends with the program
	ts.Check(err)
	late := time.AfterFunc(scriptPatience, func() { _ = c.Process.Kill() })
	defer late.Stop()
	screen, read := awaiting(pattern), make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(screen, tty.outer) // ends with EIO, when nobody is left at the other end
	}()
	if typed != "" {
		_, err = io.WriteString(tty.outer, typed)
		ts.Check(err)
	}
	if pattern != "" {
		select {
		case <-screen.appeared:
			ts.Check(c.Process.Signal(os.Interrupt))
		case <-read:
		}
	}
	_ = c.Wait() // its code says how it ended
	<-read
	_, _ = io.WriteString(ts.Stdout(), strings.ReplaceAll(screen.text.String(), "\r\n", "\n"))
	wantCode(ts, c, args[0])
}
