package wechat

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFen(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "1000": 1000, "0100": 100,
		"9007199254740993": 1<<53 + 1, "9223372036854775807": math.MaxInt64} {
		if got, ok := parseFen([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d %v", text, got, ok)
		}
	}
	for _, text := range []string{"", " ", "-1", "+1", "1.0", "1e3", "1,000", "１", "0x1", "1 ", " 1", "9223372036854775808", strings.Repeat("9", 40), "٣"} {
		if got, ok := parseFen([]byte(text)); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-01T12:00:00+08:00":           noon,
		"2026-01-01T04:00:00Z":                noon,
		"2026-01-01T12:00:00.120+08:00":       noon.Add(120 * time.Millisecond),
		"2026-01-01T12:00:00.123456789+08:00": noon.Add(123456 * time.Microsecond),
		"2025-12-31T22:00:00-06:00":           noon,
	} {
		if got, ok := parseTime([]byte(text)); !ok || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "2026-01-01 12:00:00", "2026-01-01T12:00:00", "2026-01-01T12:00:00,5+08:00", "2026-01-01t12:00:00z", "2026-01-01T1:00:00Z",
		"2026-02-30T12:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "20260101120000", "2026-01-01T12:00:00+0800"} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, ok := parseTimeEnd([]byte("20260101120000")); !ok || !got.Equal(noon) || got.Location() != time.UTC {
		t.Errorf("%v %v", got, ok)
	}
	if got, ok := parseRefundTime([]byte("2026-01-01 12:00:00")); !ok || !got.Equal(noon) {
		t.Errorf("%v %v", got, ok)
	}
	for _, text := range []string{"", "2026010112000", "202601011200000", "2026-01-01 12:00", "20261301120000", "20260001120000", "20260100120000", "20260132120000",
		"20260229120000", "20260101240000", "20260101126000", "20260101120060", "2026010112000x", "2026 1 1120000", "00000000000000", "２０２６０１０"} {
		if got, ok := parseTimeEnd([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	for _, text := range []string{"2026-01-01T12:00:00", "2026/01/01 12:00:00", "2026-1-1 12:00:00", "20260101120000", "2026-01-01 12:00:00 "} {
		if got, ok := parseRefundTime([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestBase64(t *testing.T) {
	for _, text := range []string{"", "QQ==", "QUI=", "QUJD", "+/+/"} {
		if _, ok := decodeBase64(nil, []byte(text)); !ok {
			t.Errorf("%q was refused", text)
		}
	}
	for _, text := range []string{"QQ", "QQ=", "QR==", "QUJ=", "QU JD", "QUJD\n", "QU\r\nJD", "QUJD=", "-_-_", "QQ==QQ==", "=", "Q"} {
		if _, ok := decodeBase64(nil, []byte(text)); ok {
			t.Errorf("%q was accepted", text)
		}
	}
	line := strings.Repeat("A", lineLength)
	for text, want := range map[string]string{
		"QUJD": "QUJD", "QUJD\n": "QUJD", "QUJD\r\n": "QUJD", line + "\nQUJD": line + "QUJD", line + "\r\n" + line: line + line, line + "\n" + line + "\n": line + line,
	} {
		if got, ok := unwrapBase64([]byte(text)); !ok || string(got) != want {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
	for _, text := range []string{"QU\nJD", line + "\n\nQUJD", line + "\n" + line + "A", line + "A\nQUJD", line[1:] + "\nQUJD", line + "\n\n\n"} {
		if got, ok := unwrapBase64([]byte(text)); ok {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestNormalSerial(t *testing.T) {
	for serial, want := range map[string]string{
		"ab01": "AB01", "00AB": "AB", "0": "0", "000": "0", "PUB_KEY_ID_01ab": "PUB_KEY_ID_01ab",
		"": "", "xy": "", "AB ": "", "0x12": "", "pub_key_id_1": "", "A\nB": "", strings.Repeat("A", maxSerial+1): "",
	} {
		if got := string(normalSerial(nil, serial)); got != want {
			t.Errorf("%q: %q, want %q", serial, got, want)
		}
	}
}

func TestUpperHex(t *testing.T) {
	if got, ok := decodeUpperHex(nil, []byte("00FFA9")); !ok || string(got) != "\x00\xff\xa9" {
		t.Errorf("%x %v", got, ok)
	}
	for _, text := range []string{"f0", "F", "0G", " 0", "0\n"} {
		if _, ok := decodeUpperHex(nil, []byte(text)); ok {
			t.Errorf("%q was accepted", text)
		}
	}
}
