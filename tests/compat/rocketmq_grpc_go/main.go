// RocketMQ's own Go client over gRPC, which uses TLS, tries everything it can do, and prints what came of it as JSON.
//
//	client HOST:PORT PREFIX
//
// All trials run side by side: most of each is waiting.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const limit = 45 * time.Second

var address, prefix string

type facts map[string]any

func config(group string) *rmq.Config {
	return &rmq.Config{Endpoint: address, ConsumerGroup: group, Credentials: &credentials.SessionCredentials{}}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func producer(topic string, options ...rmq.ProducerOption) rmq.Producer {
	made := must(rmq.NewProducer(config(""), append(options, rmq.WithTopics(topic))...))
	must(0, made.Start())
	return made
}

func simple(group, topic string, wanted *rmq.FilterExpression) rmq.SimpleConsumer {
	made := must(rmq.NewSimpleConsumer(config(prefix+"-"+group), rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: wanted})))
	must(0, made.Start())
	return made
}

func push(group, topic string, work func(*rmq.MessageView) rmq.ConsumerResult) rmq.PushConsumer {
	made := must(rmq.NewPushConsumer(config(prefix+"-"+group), rmq.WithPushAwaitDuration(5*time.Second),
		rmq.WithPushSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: work}),
		rmq.WithPushConsumptionThreadCount(4), rmq.WithPushMaxCacheMessageCount(1024)))
	must(0, made.Start())
	return made
}

func message(topic, body string) *rmq.Message {
	return &rmq.Message{Topic: topic, Body: []byte(body)}
}

func send(sender rmq.Producer, sent *rmq.Message) *rmq.SendReceipt {
	return must(sender.Send(context.Background(), sent))[0]
}

// receive takes what there is; that nothing came is an error to this client.
func receive(reader rmq.SimpleConsumer, count int32, invisible time.Duration) []*rmq.MessageView {
	given, err := reader.Receive(context.Background(), count, invisible)
	if err != nil && !strings.Contains(err.Error(), "MESSAGE_NOT_FOUND") {
		panic(err)
	}
	return given
}

func take(reader rmq.SimpleConsumer, count int, patience time.Duration) []*rmq.MessageView {
	var taken []*rmq.MessageView
	for deadline := time.Now().Add(patience); len(taken) < count && time.Now().Before(deadline); {
		for _, given := range receive(reader, 16, 15*time.Second) {
			taken = append(taken, given)
			must(0, reader.Ack(context.Background(), given))
		}
	}
	return taken
}

func one(reader rmq.SimpleConsumer) *rmq.MessageView {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if given := receive(reader, 1, time.Minute); len(given) > 0 {
			return given[0]
		}
	}
	panic("no message came")
}

func until(condition func() bool) {
	for deadline := time.Now().Add(limit); !condition() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
}

func seconds(at time.Time) float64 {
	return float64(at.UnixMilli()) / 1000
}

func seen(given *rmq.MessageView) facts {
	return facts{"body": string(given.GetBody()), "id": given.GetMessageId(), "tag": given.GetTag(),
		"keys": given.GetKeys(), "group": given.GetMessageGroup(), "properties": given.GetProperties(),
		"attempt": given.GetDeliveryAttempt(), "corrupted": false, "at": seconds(time.Now())}
}

func all(given []*rmq.MessageView) []facts {
	found := []facts{}
	for _, each := range given {
		found = append(found, seen(each))
	}
	return found
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func normal() facts {
	topic := prefix + "-normal"
	sender, reader := producer(topic), simple("normal-readers", topic, rmq.SUB_ALL)
	var sent []string
	for number := range 10 {
		made := message(topic, fmt.Sprintf("n%d", number))
		made.SetTag("paid")
		made.SetKeys("order-1")
		made.AddProperty("colour", "röt")
		made.AddProperty("size", "xl")
		sent = append(sent, send(sender, made).MessageID)
	}
	sent = append(sent, send(sender, message(topic, strings.Repeat("x", 2_000_000))).MessageID)
	taken := all(take(reader, 11, limit))
	for _, each := range taken {
		body := each["body"].(string)
		each["body"] = body[:min(10, len(body))]
	}
	return facts{"sent": sent, "taken": taken}
}

func fifo() facts {
	topic := prefix + "-fifo"
	sender, reader := producer(topic), simple("fifo-readers", topic, rmq.SUB_ALL)
	for number := range 20 {
		made := message(topic, fmt.Sprint(number))
		made.SetMessageGroup(fmt.Sprintf("g%d", number%2))
		send(sender, made)
	}
	taken := all(take(reader, 20, limit))
	_, err := sender.Send(context.Background(), message(topic, "no group"))
	return facts{"taken": taken, "refused": text(err)}
}

func delay() facts {
	topic := prefix + "-delay"
	sender, reader := producer(topic), simple("delay-readers", topic, rmq.SUB_ALL)
	due := time.Now().Add(4 * time.Second)
	var receipts []*rmq.SendReceipt
	for _, body := range []string{"later", "never"} {
		made := message(topic, body)
		made.SetDelayTimestamp(due)
		receipts = append(receipts, send(sender, made))
	}
	recalled := must(sender.Recall(context.Background(), topic, receipts[1].RecallHandle))
	taken := append(all(take(reader, 1, limit)), all(take(reader, 1, 2*time.Second))...)
	_, err := sender.Recall(context.Background(), topic, receipts[0].RecallHandle)
	return facts{"due": seconds(due), "taken": taken, "recalled": []string{receipts[1].MessageID, recalled},
		"too_late": text(err)}
}

func transaction() facts {
	topic := prefix + "-transaction"
	var lock sync.Mutex
	asked := map[string]bool{}
	checker := &rmq.TransactionChecker{Check: func(half *rmq.MessageView) rmq.TransactionResolution {
		lock.Lock()
		defer lock.Unlock()
		asked[string(half.GetBody())] = true
		if string(half.GetBody()) == "orphan yes" {
			return rmq.COMMIT
		}
		return rmq.ROLLBACK
	}}
	count := func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(asked)
	}
	sender := producer(topic, rmq.WithTransactionChecker(checker))
	reader := simple("transaction-readers", topic, rmq.SUB_ALL)
	for _, body := range []string{"yes", "no", "orphan yes", "orphan no"} {
		begun := sender.BeginTransaction()
		must(sender.SendWithTransaction(context.Background(), message(topic, body), begun))
		switch body {
		case "yes":
			must(0, begun.Commit())
		case "no":
			must(0, begun.RollBack())
		}
	}
	taken := all(take(reader, 2, limit))
	until(func() bool { return count() == 2 })
	taken = append(taken, all(take(reader, 1, 2*time.Second))...)
	bodies := []string{}
	for body := range asked {
		bodies = append(bodies, body)
	}
	sort.Strings(bodies)
	return facts{"asked": bodies, "taken": taken}
}

func pushed() facts {
	topic := prefix + "-push"
	var lock sync.Mutex
	taken := []facts{}
	count := func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(taken)
	}
	sender := producer(topic)
	reader := push("push-readers", topic, func(given *rmq.MessageView) rmq.ConsumerResult {
		lock.Lock()
		defer lock.Unlock()
		taken = append(taken, seen(given))
		if string(given.GetBody()) == "p3" && given.GetDeliveryAttempt() == 1 {
			return rmq.FAILURE
		}
		return rmq.SUCCESS
	})
	for number := range 10 {
		send(sender, message(topic, fmt.Sprintf("p%d", number)))
	}
	until(func() bool { return count() >= 11 })
	must(0, reader.GracefulStop())
	return facts{"taken": taken}
}

func dead() facts {
	topic := prefix + "-dead"
	var lock sync.Mutex
	attempts := []int32{}
	sender := producer(topic)
	push("dead-readers", topic, func(given *rmq.MessageView) rmq.ConsumerResult {
		lock.Lock()
		defer lock.Unlock()
		attempts = append(attempts, given.GetDeliveryAttempt())
		return rmq.FAILURE
	})
	sent := send(sender, message(topic, "poison")).MessageID
	until(func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(attempts) >= 2
	})
	letters := all(take(simple("undertakers", "%DLQ%"+prefix+"-dead-readers", rmq.SUB_ALL), 1, limit))
	lock.Lock()
	defer lock.Unlock()
	return facts{"sent": sent, "attempts": append([]int32{}, attempts...), "letters": letters}
}

func filters() facts {
	topic := prefix + "-filters"
	sender := producer(topic)
	tags := simple("tags", topic, rmq.NewFilterExpression("a || b"))
	sql := simple("sql", topic, rmq.NewFilterExpressionWithType("price > 10 AND TAGS = 'b'", rmq.SQL92))
	for _, each := range []string{"a5", "b5", "b50", "c50"} {
		made := message(topic, each)
		made.SetTag(each[:1])
		made.AddProperty("price", each[1:])
		send(sender, made)
	}
	bodies := func(reader rmq.SimpleConsumer, count int) []string {
		found := []string{}
		for _, each := range append(take(reader, count, limit), take(reader, 1, time.Second)...) {
			found = append(found, string(each.GetBody()))
		}
		sort.Strings(found)
		return found
	}
	return facts{"tagged": bodies(tags, 3), "chosen": bodies(sql, 1)}
}

func invisible() facts {
	topic := prefix + "-invisible"
	sender, reader := producer(topic), simple("invisible-readers", topic, rmq.SUB_ALL)
	send(sender, message(topic, "again"))
	given := one(reader)
	first := given.GetReceiptHandle()
	began := time.Now()
	must(0, reader.ChangeInvisibleDuration(given, 3*time.Second))
	changed := given.GetReceiptHandle() != first
	again := one(reader)
	waited := time.Since(began).Seconds()
	must(0, reader.Ack(context.Background(), given)) // refused, but this client does not tell
	must(0, reader.Ack(context.Background(), again))
	return facts{"changed": changed, "waited": waited, "refused": nil,
		"attempts": []int32{given.GetDeliveryAttempt(), again.GetDeliveryAttempt()}}
}

func tried(trial func() facts) (found facts) {
	defer func() {
		if reason := recover(); reason != nil {
			found = facts{"error": fmt.Sprint(reason)}
		}
	}()
	return trial()
}

func main() {
	address, prefix = os.Args[1], os.Args[2]
	must(0, os.Setenv(rmq.ENABLE_CONSOLE_APPENDER, "true")) // and not into files of the user's
	must(0, os.Setenv(rmq.CLIENT_LOG_LEVEL, "error"))
	rmq.ResetLogger()
	trials := map[string]func() facts{"normal": normal, "fifo": fifo, "delay": delay, "transaction": transaction,
		"pushed": pushed, "dead": dead, "filters": filters, "invisible": invisible}
	var lock sync.Mutex
	var running sync.WaitGroup
	found := facts{}
	for name, trial := range trials {
		running.Add(1)
		go func() {
			defer running.Done()
			told := tried(trial)
			lock.Lock()
			defer lock.Unlock()
			found[name] = told
		}()
	}
	running.Wait()
	fmt.Println("FOUND", string(must(json.Marshal(found))))
}
