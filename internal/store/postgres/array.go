package postgres

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Nearly all that a unit of work sends are arrays, a column of its rows each. The
// driver asks for every element how to write it; here a slice is written in one
// go. The format is that of array_recv and array_send; source: PostgreSQL,
// src/backend/utils/adt/arrayfuncs.c.

// ownArrays are the slices that our statements take, by the type of the parameter.
var ownArrays = map[uint32][]arrayPlan{
	pgtype.TextArrayOID:  {textArray, orNull(textArray)},
	pgtype.Int8ArrayOID:  {numberArray, orNull(numberArray)},
	pgtype.BoolArrayOID:  {truthArray},
	pgtype.ByteaArrayOID: {bytesArray},
}

var (
	textArray = arrayOf[string]{pgtype.TextOID,
		func(s string) int { return len(s) },
		func(buf []byte, s string) []byte { return append(buf, s...) }}

	numberArray = arrayOf[int64]{pgtype.Int8OID,
		func(int64) int { return 8 },
		func(buf []byte, n int64) []byte { return binary.BigEndian.AppendUint64(buf, uint64(n)) }}

	truthArray = arrayOf[bool]{pgtype.BoolOID,
		func(bool) int { return 1 },
		func(buf []byte, is bool) []byte {
			if is {
				return append(buf, 1)
			}
			return append(buf, 0)
		}}

	bytesArray = arrayOf[[]byte]{pgtype.ByteaOID,
		func(b []byte) int {
			if b == nil {
				return null
			}
			return len(b)
		},
		func(buf, b []byte) []byte { return append(buf, b...) }}
)

// null is the length of an element that is null.
const null = -1

// arrayOf writes slices of one type of element.
type arrayOf[V any] struct {
	element uint32                 // the type's OID
	size    func(V) int            // in bytes, or null
	put     func([]byte, V) []byte // appends so many
}

// orNull writes nil as null.
func orNull[V any](a arrayOf[V]) arrayOf[*V] {
	return arrayOf[*V]{a.element,
		func(v *V) int {
			if v == nil {
				return null
			}
			return a.size(*v)
		},
		func(buf []byte, v *V) []byte { return a.put(buf, *v) }}
}

// takes says whether a value is such a slice.
func (a arrayOf[V]) takes(value any) bool {
	_, ok := value.([]V)
	return ok
}

// Encode appends a slice. One that is nil does not come here: the driver makes
// null of it.
func (a arrayOf[V]) Encode(value any, buf []byte) ([]byte, error) {
	const header = 5 * 4
	values := value.([]V)
	length, nulls := header, uint32(0)
	for i := range values {
		length += 4
		if n := a.size(values[i]); n != null {
			length += n
		} else {
			nulls = 1
		}
	}
	buf = roomFor(buf, length)
	for _, field := range [...]uint32{1 /* dimension */, nulls, a.element, uint32(len(values)), 1 /* the first index */} {
		buf = binary.BigEndian.AppendUint32(buf, field)
	}
	for i := range values {
		n := a.size(values[i])
		buf = binary.BigEndian.AppendUint32(buf, uint32(n))
		if n != null {
			buf = a.put(buf, values[i])
		}
	}
	return buf, nil
}

// roomFor grows a buffer to hold n bytes more, and to twice its size at least:
// the arrays of one statement share it, and the driver begins with a small one.
func roomFor(buf []byte, n int) []byte {
	if len(buf)+n <= cap(buf) {
		return buf
	}
	return append(make([]byte, 0, 2*len(buf)+n), buf...)
}

type arrayPlan interface {
	pgtype.EncodePlan
	takes(any) bool
}

// arrayCodec writes our slices and leaves all else to the driver.
type arrayCodec struct {
	pgtype.Codec
	own []arrayPlan
}

// PlanEncode chooses how to write a value; the driver remembers it for the
// value's type.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		for _, plan := range c.own {
			if plan.takes(value) {
				return plan
			}
		}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// writeOwnArrays lets a connection write our slices so.
func writeOwnArrays(types *pgtype.Map) {
	for oid, own := range ownArrays {
		known, _ := types.TypeForOID(oid) // the driver knows them all
		types.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: arrayCodec{known.Codec, own}})
	}
}

// rowsOf is an item of a from list that makes rows of arrays, the parameters from
// $1 on. It names a column and its type for each: "id text, copies bigint". In a
// select list unnest hands out one row after the other; as an item of a from list
// it would first put every column whole in a store of its own.
func rowsOf(name, columns string) string {
	var list []string
	for i, column := range strings.Split(columns, ",") {
		column, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		list = append(list, fmt.Sprintf("unnest($%d::%s[]) as %s", i+1, kind, column))
	}
	return "(select " + strings.Join(list, ", ") + ") " + name
}
