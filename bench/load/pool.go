package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// WritePool writes requests to a file, for a client in a process of its own.
func WritePool(name string, requests [][]byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var size [4]byte
	for _, r := range requests {
		binary.BigEndian.PutUint32(size[:], uint32(len(r)))
		_, _ = w.Write(size[:]) // Flush reports the first error
		_, _ = w.Write(r)
	}
	return errors.Join(w.Flush(), f.Close())
}

// ReadPool reads such a file; the requests share one piece of memory.
func ReadPool(name string) ([][]byte, error) {
	all, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var requests [][]byte
	for len(all) > 0 {
		if len(all) < 4 {
			return nil, fmt.Errorf("%s ends in the middle of a request", name)
		}
		size := int(binary.BigEndian.Uint32(all))
		if len(all) < 4+size {
			return nil, fmt.Errorf("%s ends in the middle of a request", name)
		}
		requests = append(requests, all[4:4+size:4+size])
		all = all[4+size:]
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("%s holds no request", name)
	}
	return requests, nil
}
