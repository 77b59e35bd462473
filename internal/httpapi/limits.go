package httpapi

import "time"

// Bounds of the public listener. Strangers reach it, so nothing there is
// without one.
const (
	// maxHeaderBytes is the largest request header. Real ones have under 2 KiB.
	maxHeaderBytes = 16 << 10
	// headerSlackBytes is what net/http adds to the limit that it is given.
	headerSlackBytes = 4 << 10
	// maxBodyBytes is the largest notification. Real ones have under 16 KiB.
	maxBodyBytes = 1 << 20
	// smallBodyBytes is read from anybody at once; of larger bodies at most
	// maxLargeBodies are in memory at a time, so that slow senders cannot fill it.
	smallBodyBytes = 64 << 10
	maxLargeBodies = 64
	// promptBytes is the most memory that a body gets before it is there: no more
	// than each of the buffers that net/http gives every connection.
	promptBytes = 4 << 10
	// maxConnections is per listener, well under the usual limit of descriptors.
	maxConnections = 2000
	// maxInFlight is how many notifications are verified and committed at a
	// time: four full batches of the recorder, so what waits is soon done.
	maxInFlight = 512

	headerTimeout = 3 * time.Second
	// decideBy counts from the request's header. The answer is due after 4 s; the
	// rest is for writing it.
	decideBy = 3800 * time.Millisecond
	// readTimeout ends reading where no handler did it sooner.
	readTimeout  = headerTimeout + 4*time.Second
	writeTimeout = 6 * time.Second // counts from the header, so it must outlast decideBy
	idleTimeout  = 60 * time.Second

	// retryAfterSeconds goes with every 503. Providers follow their own schedule
	// (15 s at first); proxies and people read it.
	retryAfterSeconds = "5"
)

// strangerBodyBytes is read of a message to an account that is not configured,
// and only while refusals are kept: genuine ones with a mistyped URL are smaller.
const strangerBodyBytes = 16 << 10

// Bounds of the private listener.
const (
	// maxCommandBytes is the largest JSON body of a command; they have a handful
	// of short fields.
	maxCommandBytes = 64 << 10
	// commandBy bounds a read or a command, body included.
	commandBy           = 10 * time.Second
	privateReadTimeout  = headerTimeout + commandBy
	privateWriteTimeout = 30 * time.Second // a raw body of 1 MiB over a slow line

	pageDefault = 50
	pageMax     = 200
	// maxTextBytes bounds what a parameter may hold; the longest real value is
	// the cursor of an order whose number has 64 characters.
	maxTextBytes = 1024
)

// Bounds of the watch over the store.
const (
	beatEvery = 2 * time.Second
	// beatTimeout plus beatEvery is how long an outage can go unseen: under 5 s.
	beatTimeout = 2 * time.Second
	// beatStale turns readiness off when the watch itself hangs.
	beatStale = beatEvery + beatTimeout + time.Second
)

// maxClaimBytes bounds every text of a request that a log line may carry.
const maxClaimBytes = 256
