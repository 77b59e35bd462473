package row

import "github.com/notifyd/notifyd/internal/refusal"

// RefusalColumns are read by ScanRefusal. The table's alias is r.
const RefusalColumns = `r.id, r.received_at, r.account, r.provider, r.code, r.detail, r.status, r.peer,
r.body_bytes, r.body_sha256, r.cut, r.kept_bytes, r.request_line`

// ScanRefusal reads RefusalColumns, and into more what follows them.
func ScanRefusal(s Scanner, more ...any) (r refusal.Refusal, err error) {
	var received *int64
	var sum, line []byte
	err = s.Scan(append([]any{&r.ID, &received, &r.Account, &r.Provider, &r.Code, &r.Detail, &r.Status, &r.Peer,
		&r.BodyBytes, &sum, &r.Cut, &r.KeptBytes, &line}, more...)...)
	r.ReceivedAt = Time(received)
	copy(r.BodySHA256[:], sum)
	r.Capture.RequestLine = string(line)
	return r, err
}

// CheckRefusal is ErrText when one of its texts cannot be stored.
func CheckRefusal(r *refusal.Refusal) error {
	return textError(IsKey(r.ID, r.Account, r.Provider, r.Code) && areTexts(r.Detail, r.Peer))
}

// RefusalQuery does for refusals what OrderQuery does for orders.
func RefusalQuery(mark byte, r *refusal.Filter) (query string, args []any, ok bool) {
	if !IsKey(r.Account, r.Provider, r.Code, r.AfterID) {
		return "", nil, false
	}
	f := filter{mark: mark}
	for _, column := range []struct{ name, value string }{
		{"r.account", r.Account}, {"r.provider", r.Provider}, {"r.code", r.Code},
	} {
		if column.value != "" {
			f.and(column.name+" = #", column.value)
		}
	}
	if !r.Since.IsZero() {
		f.and("r.received_at >= #", *Micros(r.Since))
	}
	if !r.Until.IsZero() {
		f.and("r.received_at < #", *Micros(r.Until))
	}
	if r.AfterID != "" {
		f.and("r.id < #", r.AfterID)
	}
	query, args = f.query("select "+RefusalColumns+"\nfrom refusals r", "r.id desc", r.Limit)
	return query, args, true
}
