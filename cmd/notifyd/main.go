// Command notifyd receives payment notifications of WeChat Pay and Alipay. This
// package is the only place where the others are wired together: it may import
// all of them, and nothing imports it. There is one small file per subcommand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal is on its way, a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
