package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processors is how the time of all processors was spent since the start of the
// machine, in ticks.
type processors struct{ all, idle, stolen float64 }

// readProcessors reads the first line of /proc/stat. Waiting for a disk is idle.
// Source: man 5 proc, /proc/stat.
func readProcessors() (p processors, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, iowait, steal, guest = 3, 4, 7, 8
	for i, field := range strings.Fields(line)[1:] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return p, fmt.Errorf("/proc/stat: %w", err)
		}
		if i < guest { // guests are in user already
			p.all += ticks
		}
		switch i {
		case idle, iowait:
			p.idle += ticks
		case steal:
			p.stolen += ticks
		}
	}
	return p, nil
}

// residentKiB is the resident memory of a process, VmRSS.
func residentKiB(pid int) (int64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	if !found {
		return 0, fmt.Errorf("process %d has no resident memory", pid)
	}
	return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
}
