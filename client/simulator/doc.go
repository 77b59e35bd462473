// Package simulator plays the payment providers: it makes notifications of
// WeChat Pay (API v2 and v3) and of Alipay, signed and encrypted as theirs are,
// with throw-away keys. Merchants test with it what they build on notifyd, and
// `notifyd simulate` is made of it.
//
//   - [NewKeys] makes the keys of a simulated provider, [Keys.Save] and
//     [LoadKeys] keep them in a folder. Private keys that are not marked as
//     throw-away are refused.
//   - [New] plays a provider towards an account. [Simulator.Payment],
//     [Simulator.Refund] and their like say what happened to an [Order]; the
//     [Notification] is then sent as often as you like, each time signed anew:
//     [Notification.At]. A [Message] is a request or a capture.
//   - [Scenarios] lists what providers, damaged lines and strangers do;
//     [Simulator.Tell] tells one of them of an order: the messages, what a
//     receiver has to make of each, and where the orders then stand.
//
// It never signs with a provider's keys, and what it makes proves nothing to an
// account that does not name its keys.
package simulator
