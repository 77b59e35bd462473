package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// page is one page of a list, newest first.
type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// cut makes a page of at most limit rows; rows holds one more when there is a
// next page, whose cursor mark makes of the last row shown.
func cut[R, V any](rows []R, limit int, view func(*R) V, mark func(*R) cursor) page[V] {
	p := page[V]{Items: make([]V, 0, min(len(rows), limit))}
	if len(rows) > limit {
		rows = rows[:limit]
		next := mark(&rows[limit-1]).String()
		p.NextCursor = &next
	}
	for i := range rows {
		p.Items = append(p.Items, view(&rows[i]))
	}
	return p
}

// cursor is a place in a list, opaque outside. List keeps a cursor of one list
// from being used in the other.
type cursor struct {
	List       string `json:"l"`
	Micros     int64  `json:"t,omitempty"`
	Merchant   string `json:"m,omitempty"`
	OutTradeNo string `json:"n,omitempty"`
	ID         string `json:"i,omitempty"`
	Endpoint   string `json:"p,omitempty"`
}

const (
	listOfOrders        = "o"
	listOfNotifications = "n"
	listOfEvents        = "e"
	listOfDeliveries    = "d"
	listOfRefusals      = "r"
)

func (c cursor) String() string {
	b, _ := json.Marshal(c) // plain texts and numbers always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

// cursor reads the cursor of the query for a list; zero when there is none.
func (c *call) cursor(list string) (cursor, error) {
	text := c.query["cursor"]
	if text == "" {
		return cursor{}, nil
	}
	var cur cursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(b, &cur) != nil || cur.List != list ||
		!cleanText(cur.Merchant) || !cleanText(cur.OutTradeNo) || !cleanText(cur.ID) || !cleanText(cur.Endpoint) {
		return cursor{}, badParameter("cursor", "is not a next_cursor of this list")
	}
	return cur, nil
}

func orderCursor(o *order.Order) cursor {
	return cursor{List: listOfOrders, Micros: o.CreatedAt.UnixMicro(), Merchant: o.Merchant, OutTradeNo: o.OutTradeNo}
}

func (c cursor) orderMark() order.OrderMark {
	if c.List == "" {
		return order.OrderMark{}
	}
	return order.OrderMark{CreatedAt: time.UnixMicro(c.Micros).UTC(), Key: order.Key{Merchant: c.Merchant, OutTradeNo: c.OutTradeNo}}
}
