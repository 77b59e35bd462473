package pgtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// keeper removes a cluster when the test process has ended, however it ended: a
// shell waits for the end of a pipe whose other end this process alone holds.
type keeper struct {
	pipe *os.File
	cmd  *exec.Cmd
}

// The first line of postmaster.pid is the server's first process; QUIT ends it
// and the others at once.
const keeping = `cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null &&
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$1"`

func newKeeper(root string) (*keeper, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", keeping, "keeper", root)
	cmd.Stdin = read
	// A group of its own: an interrupt at the terminal is for the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &keeper{write, cmd}, read.Close()
}

// end removes the cluster now.
func (k *keeper) end() {
	_ = k.pipe.Close()
	_ = k.cmd.Wait()
}

// childrenOf lists the processes that a process has started.
func childrenOf(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var children []int
	for _, name := range stats {
		state, ppid := stat(name)
		if state != "" && ppid == parent {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			children = append(children, pid)
		}
	}
	return children
}

// isAlive says whether a process runs; one that only waits to be noticed does not.
func isAlive(pid int) bool {
	state, _ := stat("/proc/" + strconv.Itoa(pid) + "/stat")
	return state != "" && state != "Z"
}

// stat reads the state and the parent of a process; "" when it is gone. Its
// name stands in brackets before them and may hold anything.
func stat(name string) (state string, parent int) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
