package wechat

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// withReqInfo is the baseline's refund with any req_info.
func withReqInfo(reqInfo string) provider.Request {
	outer, _ := refund().V2()
	return forge.SendXML(outer.With("req_info", reqInfo).XML("xml")).At(received)
}

func innerXML() []byte {
	_, inner := refund().V2()
	return inner.XML("root")
}

func TestP26(t *testing.T) {
	a := newAdapter(t)
	outer, inner := refund().V2()
	n := accept(t, a, v2Refund(outer, inner))
	says(t, n, order.KindRefund, refundFact())
	if n.ProviderID != "" || n.Distinct != nil || n.Content != nil {
		t.Errorf("%+v", n)
	}
	zeros := newAdapter(t, func(o *Options) { o.APIv2Key = "TestKeyForReceiver00000000000019" })
	says(t, accept(t, zeros, forge.WechatV2Signer{APIKey: "TestKeyForReceiver00000000000019"}.Seal(outer, inner).At(received)), order.KindRefund, refundFact())

	for status, kind := range map[string]order.Kind{"REFUNDCLOSE": order.KindRefundClosed, "CHANGE": order.KindRefundAbnormal} {
		want := refundFact()
		want.Kind = kind
		says(t, accept(t, a, v2Refund(outer, inner.With("refund_status", status))), kind, want)
	}
	movesNothing(t, accept(t, a, v2Refund(outer, inner.With("refund_status", "PROCESSING"))), order.KindOther, orderNo)

	// In base64 broken into lines, as MIME encoders do.
	line := forge.WechatV2Signer{}.ReqInfo(innerXML())
	wrap := func(width int, end string) string {
		var lines []string
		for chunk := range slices.Chunk([]byte(line), width) {
			lines = append(lines, string(chunk))
		}
		return strings.Join(lines, end)
	}
	for _, text := range []string{line, wrap(76, "\n"), wrap(76, "\r\n"), wrap(76, "\n") + "\n", line + "\n"} {
		says(t, accept(t, a, withReqInfo(text)), order.KindRefund, refundFact())
	}
	digest := md5.Sum([]byte(forge.WechatV2Key))
	sealedWith := func(key []byte) string { return base64.StdEncoding.EncodeToString(forge.EncryptECB(key, innerXML())) }
	sealed, _ := base64.StdEncoding.DecodeString(line)
	for name, text := range map[string]string{
		"upper-case hex key":   sealedWith([]byte(strings.ToUpper(hex.EncodeToString(digest[:])))),
		"raw digest as key":    sealedWith(digest[:]),
		"APIv3 key":            sealedWith([]byte(forge.WechatV3Key)),
		"15 bytes cut off":     base64.StdEncoding.EncodeToString(sealed[:len(sealed)-15]),
		"a block cut off":      base64.StdEncoding.EncodeToString(sealed[:len(sealed)-16]),
		"plus turned to blank": strings.ReplaceAll(line, "+", " "),
		"lines of 60":          wrap(60, "\n"),
		"an empty line":        wrap(76, "\n\n"),
		"a character cut off":  line[:len(line)-1],
		"not base64":           "!!!",
		"another root":         forge.WechatV2Signer{}.ReqInfo([]byte("<xml></xml>")),
	} {
		if text == line {
			t.Fatalf("%s changes nothing", name)
		}
		t.Run(name, func(t *testing.T) { refuse(t, a, withReqInfo(text), provider.ErrSignature, CodeDecrypt) })
	}
}

func TestV2RefundIsOurs(t *testing.T) {
	a := newAdapter(t)
	outer, inner := refund().V2()
	refuse(t, a, v2Refund(outer.With("mch_id", "1"), inner), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v2Refund(outer.Without("mch_id"), inner), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v2Refund(outer.With("appid", "wxforeign"), inner), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v2Refund(outer.With("sub_mch_id", subID), inner), provider.ErrForeign, CodeForeignSubMchID)
	refuse(t, a, v2Refund(outer, inner.With("mch_id", "1")), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v2Refund(outer, inner.With("appid", "wxforeign")), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v2Refund(outer, inner.With("sub_mch_id", subID)), provider.ErrForeign, CodeForeignSubMchID)
	says(t, accept(t, a, v2Refund(outer.Without("appid"), inner)), order.KindRefund, refundFact())
	// A sign is not due; one that is there must hold.
	refuse(t, a, forge.SendXML(outer.With("req_info", forge.WechatV2Signer{}.ReqInfo(inner.XML("root"))).With("sign", baselineMD5).XML("xml")).At(received),
		provider.ErrSignature, CodeSignature)
	says(t, accept(t, a, v2(outer.With("req_info", forge.WechatV2Signer{}.ReqInfo(inner.XML("root"))))), order.KindRefund, refundFact())
}

func TestV2RefundOfASubMerchant(t *testing.T) {
	a := newAdapter(t, asPartner(subID, "1900000110"))
	outer, inner := refund().V2()
	byTxn, named := refundFact(), refundFact()
	byTxn.ByTxn = true
	named.Merchant, named.SubMerchant = "default/"+subID, subID
	says(t, accept(t, a, v2Refund(outer, inner)), order.KindRefund, byTxn)
	// What stands outside req_info anybody can write.
	says(t, accept(t, a, v2Refund(outer.With("sub_mch_id", subID), inner)), order.KindRefund, byTxn)
	says(t, accept(t, a, v2Refund(outer.With("sub_mch_id", subID), inner.With("sub_mch_id", subID))), order.KindRefund, named)
	refuse(t, a, v2Refund(outer.With("sub_mch_id", "1900000110"), inner.With("sub_mch_id", subID)), provider.ErrForeign, CodeForeignSubMchID)
	// What moves nothing looks for no order.
	movesNothing(t, accept(t, a, v2Refund(outer, inner.With("refund_status", "PROCESSING"))), order.KindOther, orderNo)
}

func TestT7V2Refund(t *testing.T) {
	a := newAdapter(t)
	outer, inner := refund().V2()
	for _, name := range []string{"transaction_id", "refund_id", "out_refund_no", "refund_fee"} {
		isConflicted(t, accept(t, a, v2Refund(outer, inner.Without(name))), order.KindRefund, order.ReasonUnreadableField)
	}
	for _, c := range [][2]string{{"refund_fee", "3.00"}, {"refund_fee", "-300"}, {"total_fee", "1e3"}, {"success_time", "20260101120000"}, {"success_time", "2026-02-30 12:00:00"}} {
		isConflicted(t, accept(t, a, v2Refund(outer, inner.With(c[0], c[1]))), order.KindRefund, order.ReasonUnreadableField)
	}
	isConflicted(t, accept(t, a, v2Refund(outer, inner.Without("out_trade_no"))), order.KindOther, order.ReasonUnreadableField)
	n := accept(t, a, v2Refund(outer, inner.Without("success_time")))
	if !n.Facts[0].At.IsZero() || n.Facts[0].Conflict != "" {
		t.Errorf("%+v", n.Facts[0])
	}
}

// TestT8 changes the ciphertext in every way that needs no key: one answer.
func TestT8(t *testing.T) {
	a := newAdapter(t)
	good := withReqInfo(forge.WechatV2Signer{}.ReqInfo(innerXML()))
	want := a.Ack(good, errReqInfo)
	sealed := forge.EncryptECB([]byte("44a28b797784ebf9069f6baae939e4df"), innerXML())
	refused := func(t *testing.T, changed []byte) {
		t.Helper()
		req := withReqInfo(base64.StdEncoding.EncodeToString(changed))
		_, err := a.Parse(req)
		if err == nil {
			t.Fatal("accepted")
		}
		if err != errReqInfo {
			t.Errorf("%v tells more than that it does not open", err)
		}
		if got := a.Ack(req, err); !bytes.Equal(got.Body, want.Body) || got.Status != want.Status {
			t.Errorf("answer %d %q", got.Status, got.Body)
		}
	}
	for block := 0; block < len(sealed); block += 16 {
		flipped := bytes.Clone(sealed)
		flipped[block+block/16%16] ^= 1 << (block / 16 % 8)
		t.Run("one bit", func(t *testing.T) { refused(t, flipped) })
	}
	for _, length := range []int{1, 15, 16, 17, 31, 32, len(sealed) - 16, len(sealed) - 1} {
		t.Run("cut", func(t *testing.T) { refused(t, sealed[:length]) })
	}
	// Padding of our own making, under the right key.
	for _, last := range []byte{0, 17, 0xFF} {
		document := append(innerXML(), bytes.Repeat([]byte{last}, 16-len(innerXML())%16)...)
		whole := forge.EncryptECB([]byte("44a28b797784ebf9069f6baae939e4df"), document)
		t.Run("padding", func(t *testing.T) { refused(t, whole[:len(document)]) })
	}
	document := append(innerXML(), bytes.Repeat([]byte{7}, 16-len(innerXML())%16)...)
	document[len(document)-1] = 8
	t.Run("uneven padding", func(t *testing.T) {
		refused(t, forge.EncryptECB([]byte("44a28b797784ebf9069f6baae939e4df"), document)[:len(document)])
	})
	// Blocks that change places cannot all be told: the format has no MAC. What is
	// still read may name another transaction or refund, which nobody knows and
	// which therefore waits; never the genuine refund with other money.
	genuine := accept(t, a, good)
	for i := 0; i < len(sealed); i += 16 {
		for j := i + 16; j < len(sealed); j += 16 {
			swapped := bytes.Clone(sealed)
			copy(swapped[i:i+16], sealed[j:j+16])
			copy(swapped[j:j+16], sealed[i:i+16])
			n, err := a.Parse(withReqInfo(base64.StdEncoding.EncodeToString(swapped)))
			if err != nil || n.FactKey() == genuine.FactKey() || n.Facts[0].Conflict != "" {
				continue
			}
			if n.Facts[0].ProviderTxnID == txnID && n.Facts[0].ProviderRefundID == refund().RefundID {
				t.Errorf("blocks %d and %d: %+v", i/16, j/16, n.Facts[0])
			}
		}
	}
	// An empty req_info is none, and without it a sign is due.
	refuse(t, a, withReqInfo(""), provider.ErrSignature, CodeNoSignature)
}
