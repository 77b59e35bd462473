package row

import (
	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

// RequestColumns are read by ScanRequest. The table's alias is i.
const RequestColumns = `i.token, i.fingerprint, i.status, i.status_code, i.content_type, i.body, i.created_at`

// statusDone is the status of a request that has its answer.
const statusDone = "done"

// ScanRequest reads RequestColumns as the holder of a token sees them.
func ScanRequest(s Scanner, token string) (r idempotency.Record, err error) {
	var holder, status string
	var fingerprint []byte
	var code, created *int64
	var contentType *string
	err = s.Scan(&holder, &fingerprint, &status, &code, &contentType, &r.Answer.Body, &created)
	copy(r.Fingerprint[:], fingerprint)
	r.Mine, r.Done, r.CreatedAt = holder == token, status == statusDone, Time(created)
	if r.Done {
		r.Answer.Status, r.Answer.ContentType, r.Answer.Body = int(Value(code)), Value(contentType), Bytes(r.Answer.Body)
	}
	return r, err
}

// CheckLock is ErrText when a lock names something that no column can hold.
func CheckLock(l *idempotency.Lock) error { return textError(IsKey(l.Merchant, l.Key, l.Token)) }

// SealLock is the lock that a seal is stored under.
func SealLock(s *order.Seal) idempotency.Lock {
	return idempotency.Lock{Merchant: s.Merchant, Key: s.Key, Token: s.Token}
}

// SealAnswer is the answer that a seal stores.
func SealAnswer(s *order.Seal) idempotency.Answer {
	return idempotency.Answer{Status: s.Status, ContentType: s.ContentType, Body: s.Body}
}
