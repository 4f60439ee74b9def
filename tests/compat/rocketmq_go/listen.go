package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var beginnings = map[string]consumer.ConsumeFromWhere{
	"FIRST": consumer.ConsumeFromFirstOffset, "LAST": consumer.ConsumeFromLastOffset,
	"TIMESTAMP": consumer.ConsumeFromTimestamp,
}

// listen starts a consumer for each GROUP=WHERE, each of which says what it gets. Until it is killed.
func listen(nameServer, topic, at string, groups []string) {
	for _, each := range groups {
		group, where, _ := strings.Cut(each, "=")
		trial := &Trial{nameServer: nameServer, topic: topic, facts: Facts{}}
		trial.consumer(group, "-"+where, everything,
			func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				for _, message := range messages {
					fmt.Println("GOT", group, message.Queue.QueueId, string(message.Body))
				}
				return consumer.ConsumeSuccess, nil
			}, consumer.WithConsumeFromWhere(beginnings[where]), consumer.WithConsumeTimestamp(at),
			consumer.WithConsumeGoroutineNums(1))
	}
	fmt.Println("READY")
	time.Sleep(time.Hour)
}
