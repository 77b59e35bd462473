package postgres

import (
	"slices"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// migrationLock is the advisory lock under which the schema is migrated: "ntfymigr".
const migrationLock int64 = 0x6e7466796d696772

// lockOf are the advisory locks of a unit of work, sorted: orders and
// transactions in one list, so that no two units can wait for each other. Two
// keys of one hash share a lock, which costs time and nothing else.
func lockOf(want *order.Want) []int64 {
	locks := make([]int64, 0, len(want.Orders)+len(want.Txns))
	for _, k := range row.Keys(want.Orders) {
		locks = append(locks, hash('o', k.OutTradeNo, k.Merchant))
	}
	for _, k := range row.Txns(want.Txns) {
		locks = append(locks, hash('t', k.ProviderTxnID, k.Provider))
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// hash is FNV-1a: the same in every process, unlike the language's own.
func hash(kind byte, texts ...string) int64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (uint64(offset) ^ uint64(kind)) * prime
	for _, s := range texts {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * prime
		}
		// A text never holds this byte, so neighbours cannot run together.
		h = (h ^ 0xff) * prime
	}
	return int64(h)
}
