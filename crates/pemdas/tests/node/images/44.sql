-- Each customer has one order now. Where one has two, a human has to say which.
alter table orders add constraint one_order_each unique (customer);
