package order

// cell is what the transition table says of one fact in one status.
type cell uint8

const (
	isStale cell = iota
	isDuplicate
	toPending
	toClosed
	setFinished
	isClosedAfterPaid
)

// table holds the kinds without money: what paying, closed and finished of the
// order's own transaction do in each status. A status that is not listed is
// stale. Paid and the refunds need amounts and stand in decide.go and refund.go.
var table = map[Kind]map[Status]cell{
	KindPaying: {
		None: toPending, Created: toPending, Pending: isDuplicate,
	},
	KindClosed: {
		None: toClosed, Created: toClosed, Pending: toClosed, Closed: isDuplicate,
		Paid: isClosedAfterPaid, Shipped: isClosedAfterPaid, Completed: isClosedAfterPaid,
	},
	KindFinished: {
		Paid: setFinished, Shipped: setFinished, Completed: setFinished, Cancelled: setFinished,
	},
}

func cellOf(k Kind, s Status, accepted bool) cell {
	// Finished follows its payment; a cancelled order that was never paid has none.
	if k == KindFinished && !accepted {
		return isStale
	}
	return table[k][s]
}

// commands says from which statuses a merchant's command leads where.
var commands = map[Kind]struct {
	from []Status
	to   Status
	tell EventType
}{
	KindShip:     {[]Status{Paid}, Shipped, EventShipped},
	KindComplete: {[]Status{Shipped}, Completed, EventCompleted},
	KindCancel:   {[]Status{Created, Pending, Paid}, Cancelled, EventCancelled},
}
