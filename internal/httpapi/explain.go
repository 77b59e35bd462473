package httpapi

import "github.com/notifyd/notifyd/internal/provider"

// Explanations are the texts for people of the edge's own codes: what they mean,
// and what to do.
func Explanations() []provider.Explanation {
	type say = [2]string
	explain := provider.Explain
	return []provider.Explanation{
		explain(codeNoAccount,
			say{"The URL names an account that is not configured; 404. It is kept for diagnosis only and counted nowhere else.", "Compare the notify_url at the provider with `POST /notify/{account}`."},
			say{"URL 中的账号未配置；返回 404。只留作诊断，不计入其他统计。", "核对服务商处的 notify_url 与 `POST /notify/{account}`。"}),
		explain(codeMethod,
			say{"Not a POST; 405.", "Somebody opened the URL in a browser, or a monitor asks it: let it ask `/healthz`."},
			say{"不是 POST；返回 405。", "有人在浏览器中打开了该地址，或有监控在探测：让监控访问 `/healthz`。"}),
		explain(codeEncoding,
			say{"A Content-Encoding; 415.", "A proxy must not compress requests."},
			say{"带有 Content-Encoding；返回 415。", "代理不得压缩请求。"}),
		explain(codeTooLarge,
			say{"Over 1 MiB; 413.", "Nothing: it is not a notification."},
			say{"超过 1 MiB；返回 413。", "无需处理：它不是通知。"}),
		explain(codeBodySlow,
			say{"The body did not arrive in time; 503.", "Look at the line, or at a proxy that holds bodies back."},
			say{"请求体未及时到达；返回 503。", "检查线路，或扣留请求体的代理。"}),
		explain(codeBodyCut,
			say{"The connection ended within the body, or its chunks were malformed; 400.", "Look at the line, or at a proxy with a timeout that is too short."},
			say{"连接在请求体中途结束，或分块格式错误；返回 400。", "检查线路，或超时过短的代理。"}),
		explain(codeBodyLost,
			say{"The header promises a body and none came; 503.", "Something in front read it: pass it on."},
			say{"请求头声明有请求体，却没有收到；返回 503。", "前面的环节读走了它：请转发。"}),
		explain(codeOverloaded,
			say{"Too much at once; 503.", "The store is slow, or this is a flood; the provider comes again."},
			say{"同时请求过多；返回 503。", "存储过慢，或流量洪峰；服务商会重试。"}),
		explain(codeDeadline,
			say{"Verified, not committed in time; 503.", "The store is slow: look at it."},
			say{"已验证，但未能及时提交；返回 503。", "存储过慢：请检查。"}),
		explain(codeGone,
			say{"The sender hung up before the commit.", "Its patience, or a proxy's, is shorter than the store's: look at both."},
			say{"发送方在提交前断开。", "发送方或代理的超时短于存储的耗时：两边都要检查。"}),
		explain(codeStopping,
			say{"The process is about to end; 503.", "Nothing: the provider comes again."},
			say{"进程即将退出；返回 503。", "无需处理：服务商会重试。"}),
		explain(codeStore,
			say{"The store is away or the fate of a commit is unknown; 503.", "Look at the database; `/readyz` is 503, too."},
			say{"存储不可用，或提交结果未知；返回 503。", "检查数据库；`/readyz` 同样为 503。"}),
		explain(codeFailed,
			say{"A fault that is none of these; 503.", "Read the log line beside it."},
			say{"其他故障；返回 503。", "查看同一行日志。"}),
		explain(codePanic,
			say{"A fault of ours was caught; 503.", "Report it with the log line."},
			say{"捕获到程序自身的故障；返回 503。", "请连同日志行一起反馈。"}),
		provider.ExplainFiner(codeNotHTTP,
			say{"A header that HTTP does not allow: the server answers 400 before it looks at the account.", "Look for what writes such a header; a capture may have been edited."},
			say{"含有 HTTP 不允许的请求头：服务器在查看账号之前就返回 400。", "检查是谁写了这样的请求头；抓包文件可能被改动过。"}),
	}
}
