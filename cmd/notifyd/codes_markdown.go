package main

import (
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

const codesIntroduction = `# Reason codes

A notification that is refused leaves one log line with a code, and a count in ` + "`notifyd_refusals_total{account,code}`" + ` (all but
` + "`edge.no_account`" + `, which belongs to no account). The sender never sees the code: it gets one text for every cause.
` + "`notifyd verify`" + ` looks at a captured request and names its cause ([verify.md](verify.md)), by the same code or by a finer one of
this list: a log can only say that a signature does not hold, verify finds out why. ` + "`notifyd help CODE`" + ` prints what stands here.

The codes under [Conflicts](#conflicts) are of another kind: a proven notification has one, in the column REASON of orders and
notifications, when it moved nothing and a person has to look. It was acked.

The list is closed, and this document is made from it: ` + "`make codes`" + ` writes it, and ` + "`TestCodesDocumentIsInStep`" + ` holds it.

被拒绝的通知会在日志中留下一行原因代码，并计入 ` + "`notifyd_refusals_total{account,code}`" + `（` + "`edge.no_account`" + ` 除外：它不属于任何账户）；发送方看不到代码，所有原因得到同一种答复。
` + "`notifyd verify`" + ` 检查一个抓包文件并指出原因；标有“verify”的代码比服务器日志更细。` + "`notifyd help 代码`" + ` 打印同样的内容。
[Conflicts](#conflicts) 下的代码不是拒绝：通知已验证并已应答，但没有改变订单，需要人工处理；见订单和通知表中的 REASON 一列。
`

// titles are the headings of the families; a provider that has none is named by
// its name.
var titles = map[string]string{"edge": "Before a provider is asked", "wechat": "WeChat Pay", "alipay": "Alipay", conflictFamily: "Conflicts"}

// codesMarkdown is docs/codes.md.
func codesMarkdown() []byte {
	var b strings.Builder
	b.WriteString(codesIntroduction)
	for _, f := range codeFamilies() {
		title := titles[f.title]
		if title == "" {
			title = f.title
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		for _, e := range f.explanations {
			writeMarkdown(&b, e)
		}
	}
	return []byte(b.String())
}

func writeMarkdown(b *strings.Builder, e provider.Explanation) {
	fmt.Fprintf(b, "\n### %s\n\n", e.Code)
	if e.Finer {
		b.WriteString("*verify*. ")
	}
	fmt.Fprintf(b, "%s **%s**\n\n%s **%s**\n", e.Means.English, e.Fix.English, e.Means.Chinese, e.Fix.Chinese)
}
