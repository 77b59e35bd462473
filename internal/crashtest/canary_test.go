package crashtest

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// canary is in everything that must never be seen again.
const canary = "CaNaRy"

// The secrets of the site, each with its canary.
const (
	canaryToken  = canary + "-admin-token"
	canaryV2Key  = canary + "KeyForReceiver00000000001"
	canaryV3Key  = canary + "ApiV3KeyForReceiver0000001"
	canaryAESKey = "CaNaRyCaNaRyCaNaRyCaNQ=="                 // base64 of 16 bytes
	canaryWhsec  = "Q2FOYVJ5Q2FOYVJ5Q2FOYVJ5Q2FOYVJ5Q2FOYVI=" // base64 of the canary
)

func newCanarySite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.token = canaryToken
	s.write(t, "keys/platform.pem", forge.WechatCertificatePEM())
	s.write(t, "keys/alipay.pem", forge.AlipayKey.PublicPEM())
	s.write(t, "keys/token", []byte(canaryToken+"\n"))
	s.write(t, "keys/v3", []byte(canaryV3Key+"\n"))
	s.write(t, "notifyd.yaml", fmt.Appendf(nil, `listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token_file: keys/token}
store: "sqlite:n.db"
merchants:
  - name: default
    api_keys: [{id: k1, secret: %s-api-secret-0123456789}]
    endpoints:
      - {name: shop, url: "https://shop.example/%s-path?%s=query", secrets: ["whsec_%s"], events: ["*"]}
accounts:
  - {name: wechat, provider: wechat, mchid: %q, appids: [%s], api_v2_key: %s, api_v3_key_file: keys/v3, certificates: [{file: keys/platform.pem}]}
  - {name: alipay, provider: alipay, app_id: %q, seller_id: %q, aes_key: %q, public_keys: [{file: keys/alipay.pem}]}
`, canary, canary, canary, canaryWhsec, mchID, appID, canaryV2Key, aliAppID, sellerID, canaryAESKey))
	return s
}

// personal is what a message says of a buyer, or of the merchant's business.
const personal = canary + "-attach"

// canaryMessages are genuine, forged and broken messages full of canaries.
func canaryMessages(now time.Time) map[string]forge.Message {
	wechat := payment{v3, "K1", 1000}.wechat()
	wechat.Attach = personal
	trade := payment{ali, "K3", 1000}.alipay()
	trade.Subject = personal
	v3Real := forge.WechatV3Signer{APIKey: canaryV3Key}
	event := forge.WechatEvent{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", CreatedAt: now, Summary: personal, Content: wechat.V3()}
	v2Real := forge.WechatV2Signer{APIKey: canaryV2Key}
	second := wechat
	second.OutTradeNo, second.TransactionID = "K2", "42K2"
	form := trade.Form().With("passback_params", personal)
	stranger := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: "0000000000000000000000000000000000000009", APIKey: canaryV3Key}
	unreadable := v3Real.Notify(forge.WechatEvent{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", CreatedAt: now,
		Content: []byte(strings.Replace(string(second.V3()), "1000", `"`+canary+`"`, 1))}, now)
	unhandled := v3Real.Notify(forge.WechatEvent{Type: "MCHTRANSFER.BILL.FINISHED", OriginalType: "mch_payment", CreatedAt: now,
		Content: []byte(`{"mch_id":"` + mchID + `","openid":"` + canary + `"}`)}, now)
	badForm := forge.Message{Header: http.Header{"Content-Type": {canary}}, Body: []byte("sign=" + canary + "&%zz=" + canary)}
	return map[string]forge.Message{
		"wechat v3":          v3Real.Notify(event, now),
		"wechat v3 stale":    v3Real.Notify(event, now.Add(-time.Hour)),
		"wechat v3 stranger": stranger.Notify(event, now),
		"wechat wrong key":   forge.WechatV3Signer{}.Notify(event, now),
		"wechat unreadable":  unreadable,
		"wechat unhandled":   unhandled,
		"wechat v2":          v2Real.Sign(second.V2()),
		"wechat v2 forged":   forge.SendXML(second.V2().With("sign", canary).XML("xml")),
		"wechat v2 broken":   forge.SendXML([]byte("<xml><" + canary + "><![CDATA[" + canary)),
		"alipay":             forge.AlipaySigner{}.Sign(form),
		"alipay forged":      forge.AlipaySigner{Key: forge.StrangerKey}.Sign(form),
		"alipay broken":      badForm,
		"alipay sealed": forge.AlipaySigner{}.Sign(forge.AlipayMessage{AppID: aliAppID, Method: "alipay.test", NotifyID: "nK4", SentAt: now,
			BizContent: `{"a":"` + canary + `"}`, AESKey: []byte("0123456789abcdef")}.Form()),
	}
}

// complaints is what the program says of configurations that it cannot use, with
// canaries in what is wrong.
func complaints(t *testing.T) (all string) {
	t.Helper()
	account := `accounts: [{name: wechat, provider: wechat, mchid: "1", appids: [a], api_v3_key: "` + canary + `", api_v2_key: ` + canary + `2, public_keys: [{id: PUB_KEY_ID_1, file: k.pem}]}]`
	for _, text := range []string{
		"admin: {token: " + canary + "}\nadmin_tokn: " + canary + "\n" + account,
		"admin: {token: t, tokn: " + canary + "}\nstore: postgres://u:" + canary + "%zz@h/d\n",
		"admin: {token: [" + canary + "]}\nstore: " + canary + ":" + canary + "\n",
		"admin: {token: \"" + canary + "\n",
		"admin: {token: t}\nstore: postgres://u:" + canary + "@127.0.0.1:1/d?sslmode=nonsense\n",
	} {
		s := newSite(t)
		s.write(t, "k.pem", []byte(canary))
		s.write(t, "notifyd.yaml", []byte(text))
		out, err := exec.Command(built.path, "serve", "--config", filepath.Join(s.dir, "notifyd.yaml")).CombinedOutput()
		if err == nil {
			t.Errorf("it runs with %q", text)
		}
		all += string(out)
	}
	return all
}

// T21: with a canary in every secret and in every message, nothing that the
// program says holds one: its log, its output, its metrics, its errors, every
// command and its last words.
func TestT21Canaries(t *testing.T) {
	s := newCanarySite(t)
	check := exec.Command(built.path, "check", "--json", "--config", filepath.Join(s.dir, "notifyd.yaml"))
	checked, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, checked)
	}
	p := s.start(t)
	client, now := newClient(t), time.Now()
	heard := map[string]string{"notifyd check": string(checked), "complaints": complaints(t)}
	for name, m := range canaryMessages(now) {
		account, _, _ := strings.Cut(name, " ")
		for _, header := range []string{"Authorization", "Cookie", "User-Agent", "Referer", "X-Real-Ip", "Wechatpay-Request"} {
			m.Header.Add(header, canary)
		}
		heard["answer to "+name] = post(client, p.public+"/notify/"+account+"?"+canary+"="+canary, m).String()
	}
	for _, path := range []string{"/" + canary, "/admin/v1/orders", "/admin/v1/" + canary, "/admin/v1/orders?status=x"} {
		r, _ := http.NewRequest(http.MethodGet, p.private+path, nil)
		r.Header.Set("Authorization", "Bearer wrong-"+canary)
		heard["error of "+path] = do(client, r).String()
		r, _ = http.NewRequest(http.MethodPost, p.public+path, strings.NewReader(canary))
		heard["public error of "+path] = do(client, r).String()
	}
	for _, path := range []string{"/metrics", "/readyz", "/openapi.json", "/admin/v1/orders", "/admin/v1/orders/none"} {
		heard[path] = p.get(client, path).String()
	}
	commands := everyCommand(t, p)
	// The last words of a process that is told to say where it stands.
	p.signal(t, syscall.SIGQUIT)
	_ = p.wait()
	heard["stderr"], heard["stdout"] = p.said(), p.stdout.String()
	if !strings.Contains(heard["stderr"], "goroutine") {
		t.Error("there are no last words")
	}
	for where, text := range heard {
		wantNoCanary(t, where, said{text: text})
	}
	for command, s := range commands {
		wantNoCanary(t, command, s)
	}
	if n := strings.Count(heard["stderr"], `"verdict":"accepted"`); n < 4 {
		t.Errorf("only %d messages were accepted: the canaries did not get far", n)
	}
}
