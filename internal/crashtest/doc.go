// Package crashtest holds the tests that need the built program and not parts of
// it: what is killed, starved of its database, stopped under load or sent the
// same thing from everywhere at once is a process of its own.
//
// The package has no code besides its tests. They import forge, the domain's
// views, the servers of pgtest, and the driver that looks into an SQLite file
// from outside; the program is reached over HTTP alone.
package crashtest
