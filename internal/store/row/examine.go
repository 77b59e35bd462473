package row

import "time"

// Examination is what a look at a database finds. Looking writes nothing.
type Examination struct {
	// Now is the database's own clock; zero when it has none of its own.
	Now time.Time
	// Schema is the version of the database's schema, 0 for none at all; Newest
	// is the one that this program knows.
	Schema, Newest int64
	// Settings are those that decide whether what was committed is on disk.
	Settings []Setting
	// ReadOnly says why nothing can be written; "" when something can.
	ReadOnly string
	// Bytes is how large the database is.
	Bytes int64
	// Disk is where it lies; nil when that cannot be seen from here.
	Disk *Disk
}

// Setting is one setting of a database and what it means for an ack.
type Setting struct {
	Name, Value string
	Risk        string // what may be lost; "" when it is as it should be
	Grave       bool   // what was acked may be lost; otherwise only worth a look
	Fix         string
}

// Disk is a file system as its user sees it.
type Disk struct {
	Path      string
	FreeBytes uint64 // for us, not for root
	LeastFree uint64 // below this nothing is taken any more
	ReadOnly  bool
	InMemory  bool // what lies there is gone after a power cut
}

// ArrivalFilter asks when an account's notifications came: a few of each span of
// time, and the newest. Ids are made when they come and sort by that time.
type ArrivalFilter struct {
	Account string
	Bounds  []string // ids, sorted: between two neighbours lies a span, with the upper one and without the lower
	PerSpan int      // the first ones of each span
	Newest  int      // the last ones of all that lie above the first bound
}

// Spans are the lower and the upper ends of the spans.
func (f *ArrivalFilter) Spans() (lower, upper []string) {
	if len(f.Bounds) < 2 || f.PerSpan <= 0 {
		return nil, nil
	}
	return f.Bounds[:len(f.Bounds)-1], f.Bounds[1:]
}

// First is the bound below which nothing is read.
func (f *ArrivalFilter) First() string {
	if len(f.Bounds) == 0 {
		return ""
	}
	return f.Bounds[0]
}

// Arrival is when a notification came.
type Arrival struct {
	ID string
	At time.Time
}

// ScanArrival reads id, received_at.
func ScanArrival(r Scanner) (a Arrival, err error) {
	var us int64
	err = r.Scan(&a.ID, &us)
	a.At = time.UnixMicro(us).UTC()
	return a, err
}
