package postgres_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// someArrays are slices of all kinds that statements take, by the type of the
// parameter.
func someArrays() map[uint32][]any {
	text, empty, number, negative := "付款 ✓", "", int64(1<<40), int64(-1)
	return map[uint32][]any{
		pgtype.TextArrayOID: {
			[]string{}, []string{""}, []string{"T1", "", "付款成功", "\U0001f9fe", `{"a",\null}`, "NULL", strings.Repeat("长", 1000)},
			[]*string{}, []*string{nil}, []*string{&text, nil, &empty, nil},
		},
		pgtype.Int8ArrayOID: {
			[]int64{}, []int64{0, 1, -1, 1<<63 - 1, -1 << 63},
			[]*int64{}, []*int64{nil, nil}, []*int64{&number, nil, &negative},
		},
		pgtype.BoolArrayOID:  {[]bool{}, []bool{true}, []bool{false, true, true}},
		pgtype.ByteaArrayOID: {[][]byte{}, [][]byte{{}}, [][]byte{nil}, [][]byte{{0}, nil, {}, []byte("\xff\x00付"), make([]byte, 5000)}},
	}
}

// nilArrays are null as a whole, not empty.
func nilArrays() map[uint32][]any {
	return map[uint32][]any{
		pgtype.TextArrayOID: {[]string(nil), []*string(nil)}, pgtype.Int8ArrayOID: {[]int64(nil), []*int64(nil)},
		pgtype.BoolArrayOID: {[]bool(nil)}, pgtype.ByteaArrayOID: {[][]byte(nil)},
	}
}

// What the store writes itself is what the driver would write, byte by byte, in
// both formats, and behind what the buffer already holds.
func TestOwnArraysAreTheDriversBytes(t *testing.T) {
	driver, own := pgtype.NewMap(), pgtype.NewMap()
	postgres.WriteOwnArrays(own)
	// Some that the store leaves to the driver.
	others := map[uint32][]any{
		pgtype.TextArrayOID: {pgtype.FlatArray[string]{"a"}, pgtype.Array[string]{Elements: []string{"a", "b"}, Dims: []pgtype.ArrayDimension{{Length: 2, LowerBound: 1}, {Length: 1, LowerBound: 1}}, Valid: true}}, pgtype.Int8ArrayOID: {[]int{1, 2}, []int32{3}},
		pgtype.Int8OID: {int64(1)}, pgtype.TextOID: {"a"}, pgtype.Int4ArrayOID: {[]int64{1}},
	}
	for _, set := range []map[uint32][]any{someArrays(), nilArrays(), others} {
		for oid, values := range set {
			if got, want := own.FormatCodeForOID(oid), driver.FormatCodeForOID(oid); got != want {
				t.Errorf("type %d is sent in format %d, the driver's is %d", oid, got, want)
			}
			for _, value := range values {
				for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
					want, wantErr := driver.Encode(oid, format, value, []byte("before"))
					got, err := own.Encode(oid, format, value, []byte("before"))
					if !bytes.Equal(got, want) || (got == nil) != (want == nil) || (err == nil) != (wantErr == nil) {
						t.Errorf("%T %v as type %d in format %d:\n%q %v\nthe driver:\n%q %v", value, value, oid, format, got, err, want, wantErr)
					}
				}
			}
		}
	}
}

// A server reads back what was written, in every way to send a parameter that a
// URL can choose.
func TestArraysComeBack(t *testing.T) {
	types := map[uint32]string{pgtype.TextArrayOID: "text[]", pgtype.Int8ArrayOID: "bigint[]", pgtype.BoolArrayOID: "boolean[]",
		pgtype.ByteaArrayOID: "bytea[]"}
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		db := open(t, pgtest.Database(t)+"&default_query_exec_mode="+mode)
		conn, err := db.Writer(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		for oid, values := range someArrays() {
			for _, value := range values {
				got := reflect.New(reflect.TypeOf(value))
				if err := conn.QueryRow(t.Context(), fmt.Sprintf("select $1::%s", types[oid]), value).Scan(got.Interface()); err != nil {
					t.Errorf("%s: %T %v: %v", mode, value, value, err)
				} else if !reflect.DeepEqual(got.Elem().Interface(), value) {
					t.Errorf("%s: %T %v came back as %v", mode, value, value, got.Elem())
				}
			}
		}
		conn.Release()
	}
}

// paid is a unit of work that pays orders which were registered.
func paid(n int) *order.Changes {
	var c order.Changes
	at := time.Unix(1700000000, 0)
	for i := range n {
		k := order.Key{Merchant: "default", OutTradeNo: fmt.Sprintf("T20231114221320%04d", i)}
		tx := order.TxnKey{Provider: "wechat", ProviderTxnID: fmt.Sprintf("420000123420231114%010d", i)}
		o := order.Order{Key: k, Rev: 2, Version: 2, Status: order.Paid, Registered: true, ExpectedFen: 8800, Currency: "CNY", AmountVerified: true,
			Provider: tx.Provider, Account: "shop", ProviderTxnID: tx.ProviderTxnID, PaidFen: 8800, PaidAt: at, CreatedAt: at, UpdatedAt: at}
		p := order.Payment{TxnKey: tx, Order: k, Account: "shop", AmountFen: 8800, Currency: "CNY", Role: order.Accepted, PaidAt: at, CreatedAt: at}
		r := order.Row{ID: fmt.Sprintf("ntf_%022d", i), ReceivedAt: at, Provider: tx.Provider, Account: "shop", Merchant: k.Merchant,
			OutTradeNo: k.OutTradeNo, Kind: order.KindPaid, Outcome: order.Applied, FactKey: order.FactKey{byte(i), byte(i >> 8)},
			ProviderID: fmt.Sprintf("EV-%032d", i), Numbers: tx.ProviderTxnID, Copies: 1, Content: make([]byte, 700),
			Results: []order.FactResult{{Merchant: k.Merchant, OutTradeNo: k.OutTradeNo, Kind: order.KindPaid, Outcome: order.Applied}}}
		r.Claim = order.ProviderKey{Provider: r.Provider, Scope: "1900000001", ProviderID: r.ProviderID}
		r.Capture.RequestLine, r.Capture.Header, r.Capture.Body = "POST /notify/wechat/shop HTTP/1.1", make([]byte, 600), make([]byte, 1000)
		e := order.Event{ID: fmt.Sprintf("evt_%022d", i), Type: "order.paid", Key: k, OrderVersion: 2, From: order.Created, To: order.Paid,
			Kind: order.KindPaid, NotificationID: r.ID, CreatedAt: at, Snapshot: make([]byte, 600)}
		c.Orders, c.Payments, c.Notifications, c.Events = append(c.Orders, o), append(c.Payments, p), append(c.Notifications, r), append(c.Events, e)
	}
	return &c
}

// BenchmarkEncodeUnit is what the parameters of a unit of payments cost until
// they are bytes, by the driver alone and as a store's connections do.
func BenchmarkEncodeUnit(b *testing.B) {
	db, err := postgres.Open(pgtest.Database(b), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	conn, err := db.Writer(b.Context(), false)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	for _, size := range []int{1, 25, 64} {
		for _, by := range []struct {
			name  string
			types *pgtype.Map
		}{{"driver", pgtype.NewMap()}, {"store", conn.Conn().TypeMap()}} {
			b.Run(fmt.Sprintf("%d/%s", size, by.name), func(b *testing.B) { encodeUnit(b, db, conn.Conn(), by.types, paid(size)) })
		}
	}
}

func encodeUnit(b *testing.B, db *postgres.Store, conn *pgx.Conn, types *pgtype.Map, c *order.Changes) {
	described := map[string]*pgconn.StatementDescription{}
	for _, q := range db.Queued(c).QueuedQueries {
		d, err := conn.Prepare(b.Context(), q.SQL, q.SQL)
		if err != nil {
			b.Fatal(err)
		}
		described[q.SQL] = d
	}
	b.ReportAllocs()
	var builder pgx.ExtendedQueryBuilder
	for b.Loop() {
		for _, q := range db.Queued(c).QueuedQueries {
			if err := builder.Build(types, described[q.SQL], q.Arguments); err != nil {
				b.Fatal(err)
			}
		}
	}
}
