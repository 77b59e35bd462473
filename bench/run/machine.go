package run

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/notifyd/notifyd/bench/figure"
)

// memoryFilesystem is the magic number of tmpfs, where fsync does nothing.
const memoryFilesystem = 0x01021994

func (b *bench) machine() (figure.Machine, error) {
	m := figure.Machine{Time: time.Now(), Processors: runtime.NumCPU(), Go: runtime.Version(), Model: "unknown model"}
	var err error
	if m.Database, err = b.cluster.Describe(b.ctx); err != nil {
		return m, err
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, found := strings.Cut(string(text), "model name"); found {
			line, _, _ := strings.Cut(rest, "\n")
			m.Model = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(b.Folder, &fs); err != nil {
		return m, err
	}
	if m.Filesystem = "files on a disk"; fs.Type == memoryFilesystem {
		m.Filesystem = "files in memory: NOTHING IS DURABLE, choose a folder on a disk"
		b.say("%s is in memory: commits cost nothing there and the figures mean nothing", b.Folder)
	}
	version, err := exec.Command(b.Binary, "version").Output()
	m.Notifyd = strings.TrimPrefix(firstLine(string(version)), "notifyd ")
	return m, err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
