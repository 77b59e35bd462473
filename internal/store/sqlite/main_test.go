package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/sqlite"
)

// envChild makes the test program a second process that writes orders into the
// database named by it.
const envChild = "NOTIFYD_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(envChild); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// writeForever writes an order after the other and says of each when it is
// durable. It begins after the last one that is there.
func writeForever(path string) error {
	ctx := context.Background()
	db, err := store.Open("sqlite:"+path, store.Options{Holder: "the child"})
	if err != nil {
		return err
	}
	if err := db.Prepare(ctx); err != nil {
		return err
	}
	list, err := db.Orders(ctx, order.OrderFilter{Limit: 1})
	if err != nil {
		return err
	}
	next := 0
	if len(list) > 0 {
		last, err := strconv.Atoi(list[0].OutTradeNo)
		if err != nil {
			return err
		}
		next = last + 1
	}
	for ; ; next++ {
		o := numbered(next)
		err := db.Transact(ctx, order.Want{Orders: []order.Key{o.Key}}, func(*order.Found) (*order.Changes, error) {
			return &order.Changes{Orders: []order.Order{o}}, nil
		})
		if err != nil {
			return err
		}
		fmt.Println(next)
	}
}

func numbered(n int) order.Order {
	at := time.Unix(int64(n), 0)
	return order.Order{Key: order.Key{Merchant: "default", OutTradeNo: fmt.Sprintf("%06d", n)}, Rev: 1, CreatedAt: at, UpdatedAt: at}
}

// child is a second process that writes into a database.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd, bufio.NewScanner(out)}
}

// kill ends it as a crash does and returns the last number that it acked.
func (c *child) kill(t *testing.T) string {
	t.Helper()
	last := c.lines.Text()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for c.lines.Scan() { // what it said before it died
		last = c.lines.Text()
	}
	_ = c.cmd.Wait() // it was killed
	return last
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := t.TempDir() + "/notifyd.db"
	c := startChild(t, path)
	if !c.lines.Scan() {
		t.Fatal("the child wrote nothing")
	}
	db, err := store.Open("sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Prepare(t.Context())
	var held *sqlite.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("Prepare: %v, want a HeldError", err)
	}
	if held.PID != c.cmd.Process.Pid || held.Holder != "the child" || held.Path != path+".lock" {
		t.Errorf("held by %+v, want process %d", held, c.cmd.Process.Pid)
	}
	if errors.Is(err, order.ErrUnavailable) {
		t.Error("a held database counts as unavailable: trying again would go on as long as the holder lives")
	}
	c.kill(t)
	if err := db.Prepare(t.Context()); err != nil {
		t.Errorf("Prepare after the holder died: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// What was acked is there after the process was killed in the middle of its work.
func TestKilledProcessLosesNothing(t *testing.T) {
	path := t.TempDir() + "/notifyd.db"
	const rounds, acks = 5, 20
	for range rounds {
		c := startChild(t, path)
		for range acks {
			if !c.lines.Scan() {
				t.Fatal("the child ended")
			}
		}
		last := c.kill(t)
		db := open(t, path)
		o, err := db.Story(t.Context(), order.Key{Merchant: "default", OutTradeNo: pad(last)})
		if err != nil {
			t.Errorf("order %s was acked: %v", last, err)
		}
		list, err := db.Orders(t.Context(), order.OrderFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range list {
			if want := fmt.Sprintf("%06d", len(list)-1-i); found.OutTradeNo != want {
				t.Fatalf("order %s is missing, there is %s", want, found.OutTradeNo)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if got := integrity(t, path); got != "ok" {
			t.Errorf("integrity_check after order %s: %s", o.OutTradeNo, got)
		}
	}
}

func pad(number string) string {
	n, _ := strconv.Atoi(number)
	return fmt.Sprintf("%06d", n)
}
