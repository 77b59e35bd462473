package main

import (
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// conflictExplanations are the texts for people of the reasons for which a proven
// notification is a conflict: the column REASON of orders and notifications.
func conflictExplanations() []provider.Explanation {
	type say = [2]string
	explain := func(r order.Reason, english, chinese say) provider.Explanation {
		return provider.Explain(string(r), english, chinese)
	}
	return []provider.Explanation{
		explain(order.ReasonAmountMismatch,
			say{"The payment is not of the amount that was registered, or a known transaction came with another amount. Nothing moved.", "Find out who set the amount. The money is kept as a `mismatched` payment: give it back, or correct the order."},
			say{"支付金额与登记的不符，或已知交易以另一金额再次到来。订单未变。", "查明金额由谁设定。该笔款项记为 `mismatched` 支付：请退款，或更正订单。"}),
		explain(order.ReasonCurrencyMismatch,
			say{"The payment is not in the currency that was registered. Nothing moved.", "Find out who set the currency. The money is kept as a `mismatched` payment: give it back, or correct the order."},
			say{"支付币种与登记的不符。订单未变。", "查明币种由谁设定。该笔款项记为 `mismatched` 支付：请退款，或更正订单。"}),
		explain(order.ReasonSurplusPayment,
			say{"A second payment of an order that has its payment.", "Refund it at the provider: it is among the order's payments with the role `surplus`."},
			say{"订单已有支付，这是第二笔。", "在服务商处退款：它在该订单的支付列表中，角色为 `surplus`。"}),
		explain(order.ReasonClosedAfterPaid,
			say{"The provider closed what it had told us was paid. The order stays as it is.", "Ask the provider."},
			say{"服务商关闭了它曾通知为已支付的交易。订单保持不变。", "请向服务商查询。"}),
		explain(order.ReasonPaidAfterCancel,
			say{"The order was cancelled here and paid there.", "Refund it at the provider."},
			say{"订单在本方已取消，在服务商处却被支付。", "在服务商处退款。"}),
		explain(order.ReasonRefundExceedsPaid,
			say{"Refunds add up to more than was paid. Nothing moved.", "Ask the provider."},
			say{"退款合计超过支付金额。订单未变。", "请向服务商查询。"}),
		explain(order.ReasonNumberReused,
			say{"A transaction, refund or notification number that is known came again with other contents. Nothing moved.", "Ask the provider, and look for a test environment on the live URL."},
			say{"已知的交易号、退款号或通知号以不同内容再次出现。订单未变。", "请向服务商查询，并检查是否有测试环境使用了正式地址。"}),
		explain(order.ReasonUnreadableField,
			say{"A genuine message with an amount, a time or a number that cannot be read exactly. Nothing moved.", "Look at the capture (`notifyd notifications export ID`), and report it without its personal data."},
			say{"消息真实，但其中的金额、时间或号码无法精确读取。订单未变。", "查看抓包文件（`notifyd notifications export ID`），去除个人信息后反馈。"}),
		explain(order.ReasonAmbiguousText,
			say{"A genuine message with free text that could be read as a field. Nothing moved.", "Look at the capture; if only you write that field, list it in `echo_fields`."},
			say{"消息真实，但其中的自由文本可能被读作字段。订单未变。", "查看抓包文件；若该字段只由本方填写，请列入 `echo_fields`。"}),
	}
}
