package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const limit = 90 * time.Second

// Facts are what a trial found: one line of JSON. Nothing is judged here.
type Facts map[string]any

// Trial is one thing tried with the client. Trials run side by side, because most of their time is waiting.
type Trial struct {
	nameServer string
	topic      string
	namespace  string
	group      string
	mutex      sync.Mutex
	facts      Facts
}

func runTrials(nameServer, prefix string, trials map[string]func(*Trial), only []string) {
	var waiting sync.WaitGroup
	for name, body := range trials {
		if len(only) > 0 && !contains(only, name) {
			continue
		}
		full := prefix + "-" + name
		trial := &Trial{nameServer: nameServer, topic: full, group: full + "-group", facts: Facts{"trial": name}}
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			trial.run(body)
		}()
	}
	waiting.Wait()
}

func contains(names []string, wanted string) bool {
	for _, each := range names {
		if each == wanted {
			return true
		}
	}
	return false
}

var printing sync.Mutex

func (trial *Trial) run(body func(*Trial)) {
	began := time.Now()
	func() {
		defer func() {
			if failure := recover(); failure != nil {
				trial.put("failure", fmt.Sprintf("%v\n%s", failure, debug.Stack()))
			}
		}()
		body(trial)
	}()
	trial.put("took_ms", time.Since(began).Milliseconds())
	trial.mutex.Lock()
	defer trial.mutex.Unlock()
	emit(trial.facts)
}

func emit(facts any) {
	line, err := json.Marshal(facts)
	check(err)
	printing.Lock()
	defer printing.Unlock()
	fmt.Fprintln(os.Stdout, string(line))
}

func (trial *Trial) put(name string, fact any) {
	trial.mutex.Lock()
	defer trial.mutex.Unlock()
	trial.facts[name] = fact
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Seen is a list of messages that fills while others wait for it.
type Seen struct {
	mutex    sync.Mutex
	messages []Facts
}

func (seen *Seen) note(messages ...*primitive.MessageExt) {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	for _, each := range messages {
		seen.messages = append(seen.messages, factsOf(each))
	}
}

func (seen *Seen) all() []Facts {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	return append([]Facts{}, seen.messages...)
}

func (trial *Trial) until(fact string, seen *Seen, count int) {
	defer func() { trial.put(fact, seen.all()) }()
	wait(fmt.Sprintf("%d of %s", count, fact), func() bool { return len(seen.all()) >= count })
}

func wait(what string, condition func() bool) {
	deadline := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(deadline) {
			panic("waited in vain for " + what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func factsOf(message *primitive.MessageExt) Facts {
	facts := Facts{
		"at": time.Now().UnixMilli(), "topic": message.Topic, "tags": message.GetTags(), "keys": message.GetKeys(),
		"id": message.MsgId, "offset_id": message.OffsetMsgId, "offset": message.QueueOffset,
		"attempts": message.ReconsumeTimes, "born": message.BornTimestamp, "stored": message.StoreTimestamp,
		"born_host": message.BornHost, "store_host": message.StoreHost, "flag": message.Flag,
		"properties": message.GetProperties(), "body": string(message.Body), "transaction": message.TransactionId,
	}
	if message.Queue != nil {
		facts["queue"] = message.Queue.QueueId
	}
	return facts
}

func sentFacts(result *primitive.SendResult) Facts {
	return Facts{
		"status": int(result.Status), "id": result.MsgID, "offset_id": result.OffsetMsgID,
		"queue": result.MessageQueue.QueueId, "topic": result.MessageQueue.Topic, "offset": result.QueueOffset,
		"transaction": result.TransactionID, "region": result.RegionID,
	}
}

func (trial *Trial) resolver() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{trial.nameServer})
}

func (trial *Trial) producerOptions(name string, more ...producer.Option) []producer.Option {
	return append([]producer.Option{
		producer.WithNsResolver(trial.resolver()), producer.WithGroupName(trial.group + "-producer"),
		producer.WithInstanceName(trial.topic + name), producer.WithRetry(2), producer.WithSendMsgTimeout(20 * time.Second),
	}, more...)
}

func (trial *Trial) producer(more ...producer.Option) rocketmq.Producer {
	made, err := rocketmq.NewProducer(trial.producerOptions("-producer", more...)...)
	check(err)
	check(made.Start())
	return made
}

func (trial *Trial) message(tag, key, body string) *primitive.Message {
	return primitive.NewMessage(trial.topic, []byte(body)).WithTag(tag).WithKeys(strings.Split(key, " "))
}

func (trial *Trial) send(from rocketmq.Producer, messages ...*primitive.Message) Facts {
	result, err := from.SendSync(context.Background(), messages...)
	check(err)
	return sentFacts(result)
}

// awaitRoute waits until the topic is known: a consumer of this client refuses to start on one that is not.
func (trial *Trial) awaitRoute() {
	client, err := admin.NewAdmin(admin.WithResolver(trial.resolver()))
	check(err)
	name := trial.topic
	if trial.namespace != "" {
		name = trial.namespace + "%" + name
	}
	wait("the route of "+name, func() bool {
		queues, err := client.FetchPublishMessageQueues(background, name)
		return err == nil && len(queues) > 0
	})
}

type handler func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

func (trial *Trial) consumer(group, instance string, selector consumer.MessageSelector, handle handler,
	more ...consumer.Option) rocketmq.PushConsumer {
	options := append([]consumer.Option{
		consumer.WithNsResolver(trial.resolver()), consumer.WithGroupName(group),
		consumer.WithInstance(trial.topic + instance), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, more...)
	trial.awaitRoute()
	made, err := rocketmq.NewPushConsumer(options...)
	check(err)
	check(made.Subscribe(trial.topic, selector, handle))
	check(made.Start())
	return made
}

func noting(seen *Seen) handler {
	return func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		seen.note(messages...)
		return consumer.ConsumeSuccess, nil
	}
}

func (trial *Trial) consume(selector consumer.MessageSelector, more ...consumer.Option) *Seen {
	seen := &Seen{}
	trial.consumer(trial.group, "-consumer", selector, noting(seen), more...)
	return seen
}
