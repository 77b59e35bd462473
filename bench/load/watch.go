package load

import (
	"sync"
	"time"
)

// watchEvery is often enough to see memory grow within seconds.
const watchEvery = 100 * time.Millisecond

// watch follows the memory of a process until it is stopped.
type watch struct {
	once sync.Once
	end  chan struct{}
	done chan struct{}
	seen []Memory
}

func (r *run) watch() *watch {
	w := &watch{end: make(chan struct{}), done: make(chan struct{})}
	if r.plan.Watch == 0 {
		close(w.done)
		return w
	}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			if kib, err := residentKiB(r.plan.Watch); err == nil {
				w.seen = append(w.seen, Memory{r.total.Load(), kib})
			}
			select {
			case <-tick.C:
			case <-w.end:
				return
			}
		}
	}()
	return w
}

// Stop ends the watch and returns what was seen.
func (w *watch) Stop() []Memory {
	w.once.Do(func() { close(w.end) })
	<-w.done
	return w.seen
}
