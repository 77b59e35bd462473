package config

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"time"
)

// exactNumber is a number that is the same text in every reader's hands: no
// leading zero, sign, point or exponent, and digits that fit an int64.
var exactNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

const quoteIt = "unquoted, this is a number and may lose digits or change: quote it"

// scalar sets v from one value. The problem is "" when there is none, and never
// quotes the value: it may be a secret.
func scalar(n *node, v reflect.Value) (problem string) {
	if n.kind != isText {
		return fmt.Sprintf("must be one value, not %s", n.kind)
	}
	if _, ok := v.Interface().(time.Duration); ok {
		return duration(n, v)
	}
	if of, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := of.UnmarshalText([]byte(n.text)); err != nil {
			return err.Error()
		}
		return ""
	}
	switch v.Kind() {
	case reflect.String:
		switch {
		case n.form == asBool:
			return "unquoted, this is true or false and not text: quote it"
		case n.form == asNumber && !exactNumber.MatchString(n.text):
			return quoteIt
		}
		v.SetString(n.text)
	case reflect.Bool:
		switch n.text {
		case "true", "false":
			v.SetBool(n.text == "true")
		default:
			return "must be true or false"
		}
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
		if err != nil || !exactNumber.MatchString(n.text) {
			return "must be a whole number"
		}
		v.SetInt(i)
	default:
		panic(fmt.Sprintf("config: an option cannot be a %s", v.Type()))
	}
	return ""
}

func duration(n *node, v reflect.Value) string {
	d, err := time.ParseDuration(n.text)
	switch {
	case err != nil && n.form == asNumber:
		return fmt.Sprintf("needs a unit, for instance %ss or %sh", n.text, n.text)
	case err != nil:
		return "must be a duration, for instance 15s, 2m or 4320h"
	case d < 0:
		return "must not be negative"
	}
	v.SetInt(int64(d))
	return ""
}
