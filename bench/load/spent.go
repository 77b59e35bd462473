package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc, everywhere that Go runs on Linux.
const tick = 10 * time.Millisecond

// spentBy is the processor time of processes so far, in ticks, by name. The
// client's own stands beside them.
func spentBy(servers map[string]int) (map[string]float64, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	spent := map[string]float64{"client": all[os.Getpid()].own}
	for name, pid := range servers {
		if _, runs := all[pid]; !runs {
			return nil, fmt.Errorf("%s: there is no process %d", name, pid)
		}
		spent[name] = all[pid].ended + tree(all, pid)
	}
	return spent, nil
}

// process is a line of /proc/PID/stat: its processor time, and that of its
// children which have ended.
type process struct {
	parent     int
	own, ended float64
}

// processes reads all. Source: man 5 proc, /proc/pid/stat.
func processes() (map[int]process, error) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		// The program's name is in parentheses and may hold anything.
		at := strings.LastIndexByte(string(text), ')')
		const parent, user, system, endedUser, endedSystem = 1, 11, 12, 13, 14
		fields := strings.Fields(string(text[at+1:]))
		if at < 0 || len(fields) <= endedSystem {
			return nil, fmt.Errorf("%s cannot be read", name)
		}
		number := func(i int) float64 {
			n, _ := strconv.ParseFloat(fields[i], 64) // the kernel writes digits
			return n
		}
		all[pid] = process{int(number(parent)), number(user) + number(system), number(endedUser) + number(endedSystem)}
	}
	return all, nil
}

// tree is the time of a process and of all below it.
func tree(all map[int]process, root int) float64 {
	sum := all[root].own
	for pid, p := range all {
		if p.parent == root && pid != root {
			sum += tree(all, pid)
		}
	}
	return sum
}

func perAnswer(after, before map[string]float64, answered int64) map[string]float64 {
	if answered == 0 {
		return nil
	}
	spent := map[string]float64{}
	for name := range after {
		spent[name] = (after[name] - before[name]) * float64(tick/time.Microsecond) / float64(answered)
	}
	return spent
}
