// What the Go client can do, after the manner of its examples:
// trials NAMESRV BROKER PREFIX [NAME,NAME…], write NAMESRV TOPIC NAME COUNT TEXT, read NAMESRV GROUP COUNT TOPIC…,
// or listen NAMESRV TOPIC TIME GROUP=WHERE….
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const oddText = "na\u00efve \u4e2d\u6587 \U0001f600 =;|\"\\ \t end"

var everything = consumer.MessageSelector{}
var background = context.Background()

func main() {
	rlog.SetLogLevel("fatal")
	command, nameServer, more := os.Args[1], os.Args[2], os.Args[3:]
	switch command {
	case "trials":
		var only []string
		if len(more) > 2 {
			only = strings.Split(more[2], ",")
		}
		tryAll(nameServer, more[0], more[1], only)
	case "write":
		write(nameServer, more[0], more[1], number(more[2]), more[3])
	case "read":
		read(nameServer, more[0], number(more[1]), more[2:])
	case "listen":
		listen(nameServer, more[0], more[1], more[2:])
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func tryAll(nameServer, broker, prefix string, only []string) {
	runTrials(nameServer, prefix, map[string]func(*Trial){
		"sync": sendSync, "async": sendAsync, "oneway": sendOneWay, "batch": sendBatch, "orderly": orderly,
		"delay": delay, "transaction": transaction, "broadcast": broadcast, "sharing": sharing, "poll": poll,
		"pull-from": pullFrom, "tags": tags, "sql": sql, "retry": retry, "request": request, "trace": trace,
		"namespace": namespace, "large": large,
		"admin": func(trial *Trial) { administer(trial, broker) },
	}, only)
}

func sendSync(trial *Trial) {
	from := trial.producer()
	var sent []Facts
	for at := 0; at < 12; at++ {
		message := trial.message(fmt.Sprintf("tag%d", at%3), fmt.Sprintf("key%d all", at), fmt.Sprintf("body %d", at))
		message.Flag = int32(at)
		message.WithProperty("number", fmt.Sprint(at))
		message.WithProperty("odd \u4e2d", oddText)
		result := trial.send(from, message)
		result["body"] = fmt.Sprintf("body %d", at)
		sent = append(sent, result)
	}
	trial.put("sent", sent)
	trial.until("seen", trial.consume(everything), len(sent))
}

func sendAsync(trial *Trial) {
	from := trial.producer()
	var answered sync.WaitGroup
	var mutex sync.Mutex
	ids, failed := []string{}, []string{}
	for at := 0; at < 50; at++ {
		answered.Add(1)
		message := trial.message("a", "k", fmt.Sprintf("body %d", at))
		check(from.SendAsync(background, func(_ context.Context, result *primitive.SendResult, err error) {
			defer answered.Done()
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				failed = append(failed, err.Error())
			} else {
				ids = append(ids, result.MsgID)
			}
		}, message))
	}
	answered.Wait()
	trial.put("ids", ids)
	trial.put("failed", failed)
	trial.until("seen", trial.consume(everything), 50)
}

func sendOneWay(trial *Trial) {
	from := trial.producer()
	for at := 0; at < 20; at++ {
		check(from.SendOneWay(background, trial.message("a", "k", fmt.Sprintf("body %d", at))))
	}
	trial.until("seen", trial.consume(everything), 20)
}

func sendBatch(trial *Trial) {
	from := trial.producer()
	var messages []*primitive.Message
	for at := 0; at < 20; at++ {
		message := trial.message(fmt.Sprintf("tag%d", at%2), fmt.Sprintf("key%d", at), fmt.Sprintf("body %d", at))
		message.WithProperty("number", fmt.Sprint(at))
		messages = append(messages, message)
	}
	trial.put("sent", trial.send(from, messages...))
	trial.until("seen", trial.consume(everything), 20)
}

func large(trial *Trial) {
	from := trial.producer()
	text := strings.Repeat("the same again, ", 1<<16)
	trial.send(from, trial.message("a", "k", text))
	seen := trial.consume(everything)
	wait("the large message", func() bool { return len(seen.all()) > 0 })
	trial.put("whole", seen.all()[0]["body"] == text)
}

func orderly(trial *Trial) {
	from := trial.producer(producer.WithQueueSelector(producer.NewHashQueueSelector()))
	for at := 0; at < 60; at++ {
		key := fmt.Sprintf("order%d", at%3)
		trial.send(from, trial.message("a", key, fmt.Sprintf("%s %d", key, at/3)).WithShardingKey(key))
	}
	seen := &Seen{}
	var suspended atomic.Bool
	trial.consumer(trial.group, "-consumer", everything,
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			seen.note(messages...)
			if string(messages[0].Body) == "order1 5" && suspended.CompareAndSwap(false, true) {
				return consumer.SuspendCurrentQueueAMoment, nil
			}
			return consumer.ConsumeSuccess, nil
		}, consumer.WithConsumerOrder(true), consumer.WithSuspendCurrentQueueTimeMillis(300*time.Millisecond))
	trial.until("seen", seen, 61)
}

func delay(trial *Trial) {
	from := trial.producer()
	trial.send(from, trial.message("a", "k", "first"))
	seen := trial.consume(everything)
	wait("the first", func() bool { return len(seen.all()) == 1 })
	for _, level := range []int{2, 1} {
		trial.send(from, trial.message("a", "k", fmt.Sprintf("level %d", level)).WithDelayTimeLevel(level))
	}
	trial.until("seen", seen, 3)
}

// byTag ends a half message as its tag says; a tag "later-…" is unknown until the server asks.
type byTag struct{ checks Seen }

func state(tag string) primitive.LocalTransactionState {
	switch tag {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

func (listener *byTag) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	return state(message.GetTags())
}

func (listener *byTag) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	listener.checks.note(message)
	return state(strings.TrimPrefix(message.GetTags(), "later-"))
}

func transaction(trial *Trial) {
	listener := &byTag{}
	from, err := rocketmq.NewTransactionProducer(listener, trial.producerOptions("-producer")...)
	check(err)
	check(from.Start())
	var sent []Facts
	for _, tag := range []string{"rollback", "commit", "later-rollback", "later-commit"} {
		result, err := from.SendMessageInTransaction(background, trial.message(tag, tag, "body "+tag))
		check(err)
		facts := sentFacts(result.SendResult)
		facts["state"] = int(result.State)
		sent = append(sent, facts)
	}
	trial.put("sent", sent)
	// A topic that has only half messages may not be known yet.
	trial.send(trial.producer(producer.WithInstanceName(trial.topic+"-plain")), trial.message("plain", "k", "plain"))
	seen := trial.consume(everything)
	trial.until("checks", &listener.checks, 2)
	trial.until("seen", seen, 3)
}

func broadcast(trial *Trial) {
	from := trial.producer()
	trial.send(from, trial.message("a", "k", "first"))
	// A broadcasting consumer of this client begins at the end unless it has a file that says otherwise.
	members := map[string]*Seen{"one": {}, "two": {}}
	for name, seen := range members {
		trial.consumer(trial.group, "-"+name, everything, noting(seen), consumer.WithConsumerModel(consumer.BroadCasting))
	}
	for _, seen := range members {
		wait("the first message", func() bool { return len(seen.all()) >= 1 })
	}
	for at := 0; at < 10; at++ {
		trial.send(from, trial.message("a", "k", fmt.Sprintf("body %d", at)))
	}
	for name, seen := range members {
		trial.until(name, seen, 11)
	}
}

func sharing(trial *Trial) {
	from := trial.producer()
	trial.send(from, trial.message("a", "k", "first"))
	seen := []*Seen{{}, {}}
	for at, each := range seen {
		trial.consumer(trial.group, fmt.Sprintf("-%d", at), everything, noting(each))
	}
	sent := 0
	// Queues are shared out every 20 s, or when the server tells that the group changed.
	wait("both members to have messages", func() bool {
		for at := 0; at < 4; at++ {
			trial.send(from, trial.message("a", "k", fmt.Sprintf("shared %d", sent)))
			sent++
		}
		time.Sleep(200 * time.Millisecond)
		return len(seen[0].all()) > 0 && len(seen[1].all()) > 0
	})
	wait("all messages", func() bool {
		bodies := map[any]bool{}
		for _, each := range append(seen[0].all(), seen[1].all()...) {
			bodies[each["body"]] = true
		}
		return len(bodies) == sent+1
	})
	trial.put("sent", sent+1)
	trial.put("one", len(seen[0].all()))
	trial.put("two", len(seen[1].all()))
}

func poll(trial *Trial) {
	from := trial.producer()
	for at := 0; at < 10; at++ {
		trial.send(from, trial.message([]string{"even", "odd"}[at%2], "k", fmt.Sprintf("body %d", at)))
	}
	made, err := rocketmq.NewPullConsumer(consumer.WithNsResolver(trial.resolver()),
		consumer.WithGroupName(trial.group), consumer.WithInstance(trial.topic+"-consumer"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	check(err)
	check(made.Subscribe(trial.topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "even"}))
	check(made.Start())
	seen := &Seen{}
	wait("five messages", func() bool {
		request, err := made.Poll(background, time.Second)
		if err == nil {
			seen.note(request.GetMsgList()...)
			made.ACK(background, request, consumer.ConsumeSuccess)
		} else if !consumer.IsNoNewMsgError(err) {
			panic(err)
		}
		return len(seen.all()) >= 5
	})
	trial.put("seen", seen.all())
	check(made.Shutdown())
}

func pullFrom(trial *Trial) {
	from := trial.producer(producer.WithQueueSelector(producer.NewManualQueueSelector()))
	queue := &primitive.MessageQueue{Topic: trial.topic, QueueId: 1}
	trial.send(trial.producer(producer.WithInstanceName(trial.topic+"-first")), trial.message("a", "k", "first"))
	client, err := admin.NewAdmin(admin.WithResolver(trial.resolver()))
	check(err)
	queues, err := client.FetchPublishMessageQueues(background, trial.topic)
	check(err)
	trial.put("queues", len(queues))
	for _, each := range queues {
		if each.QueueId == 1 {
			queue = each
		}
	}
	base := int64(-1)
	for at := 0; at < 10; at++ {
		message := trial.message("a", "k", fmt.Sprintf("body %d", at))
		message.Queue = queue
		result := trial.send(from, message)
		if base < 0 {
			base = result["offset"].(int64)
		}
	}
	made, err := rocketmq.NewPullConsumer(consumer.WithNsResolver(trial.resolver()),
		consumer.WithGroupName(trial.group), consumer.WithInstance(trial.topic+"-consumer"))
	check(err)
	check(made.Subscribe(trial.topic, everything))
	check(made.Start())
	result, err := made.PullFrom(background, queue, base+4, 3)
	check(err)
	seen := &Seen{}
	seen.note(result.GetMessageExts()...)
	trial.put("seen", seen.all())
	trial.put("status", int(result.Status))
	trial.put("next", result.NextBeginOffset-base)
	trial.put("end", result.MaxOffset-base)
	// The client forgets an offset of a queue that is not its own yet: that takes until it has looked who else is there.
	// Until then it asks the node, which tells a group that is new to a young queue to begin at its start.
	var offset int64
	wait("an offset of its own", func() bool {
		check(made.UpdateOffset(queue, base+7))
		check(made.PersistOffset(background, trial.topic))
		offset, err = made.CurrentOffset(queue)
		check(err)
		return offset == base+7
	})
	trial.put("offset", offset-base)
	check(made.Shutdown())
}

func filtered(trial *Trial, selector consumer.MessageSelector) []string {
	from := trial.producer(producer.WithQueueSelector(producer.NewHashQueueSelector()))
	for at := 0; at < 12; at++ {
		tag := []string{"A", "B", "C"}[at%3]
		message := trial.message(tag, "k", fmt.Sprintf("%s %d", tag, at)).WithShardingKey("one queue")
		message.WithProperty("number", fmt.Sprint(at))
		trial.send(from, message)
	}
	end := trial.message("C", "k", "the end").WithShardingKey("one queue")
	end.WithProperty("number", "100")
	trial.send(from, end)
	seen := trial.consume(selector)
	bodies := func() (found []string) {
		for _, each := range seen.all() {
			found = append(found, each["body"].(string))
		}
		return found
	}
	wait("the end", func() bool { return contains(bodies(), "the end") })
	// The client works on messages side by side: those that came before the end may be noted behind it.
	time.Sleep(time.Second)
	all := bodies()
	sort.Strings(all)
	return all
}

func tags(trial *Trial) {
	trial.put("seen", filtered(trial, consumer.MessageSelector{Type: consumer.TAG, Expression: "A || C"}))
}

func sql(trial *Trial) {
	expression := "number = 100 OR (TAGS = 'B' AND number BETWEEN 2 AND 8)"
	trial.put("seen", filtered(trial, consumer.MessageSelector{Type: consumer.SQL92, Expression: expression}))
}

func retry(trial *Trial) {
	from := trial.producer()
	trial.send(from, trial.message("first", "key", "first"))
	// Routes are asked for every 30 s; who comes second finds that of the group's retries.
	wanted := consumer.MessageSelector{Type: consumer.TAG, Expression: "tag"}
	first := trial.consumer(trial.group, "-first", wanted, noting(&Seen{}))
	time.Sleep(time.Second)
	check(first.Shutdown())
	trial.put("sent", trial.send(from, trial.message("tag", "key", "in vain")))
	seen := &Seen{}
	trial.consumer(trial.group, "-second", wanted,
		func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			seen.note(messages...)
			concurrently, _ := primitive.GetConcurrentlyCtx(ctx)
			concurrently.DelayLevelWhenNextConsume = 1
			if messages[0].ReconsumeTimes < 2 {
				return consumer.ConsumeRetryLater, nil
			}
			return consumer.ConsumeSuccess, nil
		})
	wait("a third try", func() bool {
		for _, each := range seen.all() {
			if each["attempts"].(int32) == 2 {
				return true
			}
		}
		return false
	})
	trial.put("seen", seen.all())
}

func request(trial *Trial) {
	asking := trial.producer()
	answering := trial.producer(producer.WithInstanceName(trial.topic+"-answering"),
		producer.WithGroupName(trial.group+"-answering"))
	trial.send(asking, trial.message("warm", "k", "the topic exists"))
	trial.send(answering, trial.message("warm", "k", "the topic exists"))
	trial.consumer(trial.group, "-consumer", consumer.MessageSelector{Type: consumer.TAG, Expression: "ask"},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, each := range messages {
				// As its example does: the asking producer may not have told of itself yet.
				time.Sleep(time.Second)
				reply, err := consumer.CreateReplyMessage(each, nil)
				if err == nil {
					// This release loses the body that it is given.
					reply.Body = []byte("answer to " + string(each.Body))
					_, err = answering.SendSync(background, reply)
				}
				trial.put("refused reply", refusal(err))
			}
			return consumer.ConsumeSuccess, nil
		})
	answer, err := asking.Request(background, 30*time.Second, trial.message("ask", "k", "question"))
	check(err)
	trial.put("answer", string(answer.Body))
	called := make(chan string, 1)
	check(asking.RequestAsync(background, 30*time.Second, func(_ context.Context, message *primitive.Message, err error) {
		if err != nil {
			called <- err.Error()
			return
		}
		called <- string(message.Body)
	}, trial.message("ask", "k", "another")))
	trial.put("called back", <-called)
}

func trace(trial *Trial) {
	config := &primitive.TraceConfig{Access: primitive.Local, Resolver: trial.resolver(), GroupName: trial.group}
	from := trial.producer(producer.WithTrace(config))
	sent := trial.send(from, trial.message("traced", trial.topic+"-key", "traced"))
	trial.put("sent", sent)
	trial.until("seen", trial.consume(everything, consumer.WithTrace(config)), 1)
	kinds := map[string]bool{}
	var mutex sync.Mutex
	records := []string{}
	reader := &Trial{nameServer: trial.nameServer, topic: "RMQ_SYS_TRACE_TOPIC", group: trial.group + "-reader", facts: Facts{}}
	reader.consumer(reader.group, trial.topic+"-reader", everything,
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			mutex.Lock()
			defer mutex.Unlock()
			for _, each := range messages {
				if strings.Contains(each.GetKeys(), sent["id"].(string)) {
					for _, record := range strings.Split(strings.Trim(string(each.Body), "\x02"), "\x02") {
						kinds[strings.Split(record, "\x01")[0]] = true
						records = append(records, record)
					}
				}
			}
			return consumer.ConsumeSuccess, nil
		})
	wait("the trace", func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return kinds["Pub"] && kinds["SubBefore"] && kinds["SubAfter"]
	})
	mutex.Lock()
	defer mutex.Unlock()
	trial.put("records", records)
}

func namespace(trial *Trial) {
	trial.namespace = "space"
	from := trial.producer(producer.WithNamespace("space"))
	trial.put("sent", trial.send(from, trial.message("a", "k", "in a space")))
	trial.until("seen", trial.consume(everything, consumer.WithNamespace("space")), 1)
}

func administer(trial *Trial, broker string) {
	client, err := admin.NewAdmin(admin.WithResolver(trial.resolver()))
	check(err)
	check(client.CreateTopic(background, admin.WithTopicCreate(trial.topic), admin.WithBrokerAddrCreate(broker),
		admin.WithReadQueueNums(6), admin.WithWriteQueueNums(6)))
	listed := func() bool {
		topics, err := client.FetchAllTopicList(background)
		check(err)
		return contains(topics.TopicList, trial.topic)
	}
	wait("the topic in the list", listed)
	queues, err := client.FetchPublishMessageQueues(background, trial.topic)
	check(err)
	trial.put("queues", len(queues))
	trial.put("sent", trial.send(trial.producer(), trial.message("a", "k", "made")))
	trial.consume(everything)
	wait("the group in the list", func() bool {
		groups, err := client.GetAllSubscriptionGroup(background, broker, 5*time.Second)
		check(err)
		_, found := groups.SubscriptionGroupTable[trial.group]
		return found
	})
	check(client.DeleteTopic(background, admin.WithTopicDelete(trial.topic), admin.WithBrokerAddrDelete(broker)))
	wait("the topic to be gone", func() bool { return !listed() })
	trial.put("gone", true)
}
