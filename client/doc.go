// Package client is the merchant's side of notifyd: it makes signed calls to
// the merchant API, proves and reads events, and runs a handler once for each.
//
//   - [Client] registers orders, asks for them, ships, completes and cancels
//     them, and reads the event feed. A call keeps one idempotency key over all
//     its attempts, so that repeating it has one effect.
//   - [VerifyWebhook] proves that a delivery is from notifyd and reads its event.
//   - [Inbox] runs a handler exactly once for each event, inside a transaction
//     of the merchant's own database, wherever the event comes from.
//
// notifyd delivers every event at least once under an id that never changes.
// The Inbox remembers ids in the transaction in which the handler writes: that
// is what makes "at least once" a "once".
//
// Amounts are in fen, times in UTC. In what notifyd tells, 0, "" and the zero
// time mean unknown.
//
// The package imports the standard library and one library for the pauses
// between attempts, and nothing of notifyd's own inside. It brings no database
// driver: use the one that you have.
package client
