package peer

import (
	"context"
	"errors"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type notification struct {
	ID         int64 `gorm:"primaryKey"`
	Provider   string
	DedupKey   string
	OutTradeNo string
	Header     string
	Body       []byte
	ReceivedAt time.Time
}

type event struct {
	ID             int64 `gorm:"primaryKey"`
	Type           string
	OutTradeNo     string
	NotificationID int64
	Payload        string
	CreatedAt      time.Time
}

// gormLedger keeps notifications by GORM, whose driver for PostgreSQL is pgx.
type gormLedger struct {
	db  *gorm.DB
	end func() error
}

// openGorm prepares statements and leaves GORM's own transaction around single
// writes away, as its guide to performance advises.
func openGorm(url string) (ledger, error) {
	db, err := gorm.Open(postgres.Open(url), &gorm.Config{
		PrepareStmt: true, SkipDefaultTransaction: true, Logger: logger.Default.LogMode(logger.Silent),
	})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(ConnLimit)
	pool.SetMaxIdleConns(ConnLimit)
	return &gormLedger{db, pool.Close}, nil
}

func (l *gormLedger) close() { _ = l.end() }

func (l *gormLedger) record(ctx context.Context, in inbound) error {
	return l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		n := notification{Provider: in.Provider, DedupKey: in.Key, OutTradeNo: in.OutTradeNo, Header: in.Header, Body: in.Body, ReceivedAt: in.ReceivedAt}
		kept := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&n)
		if kept.Error != nil || kept.RowsAffected == 0 {
			return kept.Error // a copy is kept already
		}
		var o order
		err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Take(&o, "out_trade_no = ?", in.OutTradeNo).Error
		known := !errors.Is(err, gorm.ErrRecordNotFound)
		if err != nil && known {
			return err
		}
		now := time.Now()
		d, err := decide(o, known, in.fact, now)
		if err != nil {
			return err
		}
		if d.changed {
			if err := tx.Save(&d.order).Error; err != nil {
				return err
			}
		}
		return tx.Create(&event{Type: d.event, OutTradeNo: in.OutTradeNo, NotificationID: n.ID, Payload: d.payload, CreatedAt: now}).Error
	})
}
